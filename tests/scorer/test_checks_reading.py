"""Dates, codes, addresses, quotations and names: what a text is read as, and that no place is read twice."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.scorer.checks import Item, read_items


def of_kind(kind: str, text: str, language: str = "en") -> list[Item]:
    return [item for item in read_items(text, language=language) if item.kind == kind]


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("2024-05-03", "en", ["2024-05-03"]),
        ("2024/5/3", "en", ["2024-05-03"]),
        ("2024-05-03T14:30:00Z", "en", ["2024-05-03T14:30Z"]),
        ("2024-05-03T14:30:05.123+02:00", "en", ["2024-05-03T14:30:05+02:00"]),
        ("2024-05-03 14:30", "en", ["2024-05-03T14:30"]),
        ("May 3, 2024", "en", ["2024-05-03"]),
        ("May 3rd", "en", ["--05-03"]),
        ("the 3rd of May", "en", ["--05-03"]),
        ("3 May 2024", "en", ["2024-05-03"]),
        ("Sept. 3, 2024", "en", ["2024-09-03"]),
        ("March 2024", "en", ["2024-03"]),
        ("on **May 3**", "en", ["--05-03"]),
        ("3. Mai 2024", "de", ["2024-05-03"]),
        ("3. März", "de", ["--03-03"]),
        ("März 2024", "de", ["2024-03"]),
        ("03.05.2024", "de", ["2024-05-03"]),
        ("am 3.5. um", "de", ["--05-03"]),
        ("3 mai 2024", "fr", ["2024-05-03"]),
        ("1er août 2024", "fr", ["2024-08-01"]),
        ("3 février", "fr", ["--02-03"]),
        ("3 de mayo de 2024", "es", ["2024-05-03"]),
        ("enero de 2024", "es", ["2024-01"]),
        ("3 maggio 2024", "it", ["2024-05-03"]),
        ("3 set 2024", "it", ["2024-09-03"]),
        ("3 de março de 2024", "pt", ["2024-03-03"]),
        ("3 maart 2024", "nl", ["2024-03-03"]),
        ("3 мая 2024", "ru", ["2024-05-03"]),
        ("3 maja 2024", "pl", ["2024-05-03"]),
        ("2024年5月3日", "zh", ["2024-05-03"]),
        ("5月3日", "ja", ["--05-03"]),
        ("2024年5月", "zh", ["2024-05"]),
        ("2024年 に", "ja", ["2024"]),
        ("２０２４年５月３日", "ja", ["2024-05-03"]),
        ("2024년 5월 3일", "ko", ["2024-05-03"]),
        ("٢٠٢٤-٠٥-٠٣", "ar", ["2024-05-03"]),
        ("12-18 April 2015", "en", ["2015-04-12", "2015-04-18"]),
        ("from 12 to 18 April 2015", "en", ["2015-04-12", "2015-04-18"]),
        ("April 12–18, 2015", "en", ["2015-04-12", "2015-04-18"]),
        ("vom 12. bis 18. April 2015", "de", ["2015-04-12", "2015-04-18"]),
        ("2018.11.22", "en", ["2018-11-22"]),
        ("10:30 am", "en", ["T10:30"]),
        ("10:30 PM", "en", ["T22:30"]),
        ("12:05 a.m.", "en", ["T00:05"]),
        ("12 pm", "en", ["T12:00"]),
        ("7pm", "en", ["T19:00"]),
        ("14:30", "en", ["T14:30"]),
        ("14:30:15", "en", ["T14:30:15"]),
        ("14h30", "fr", ["T14:30"]),
        ("14.30 Uhr", "de", ["T14:30"]),
        ("um 9 Uhr", "de", ["T09:00"]),
        ("下午3点", "zh", ["T15:00"]),
        ("上午9点30分", "zh", ["T09:30"]),
        ("午後3時", "ja", ["T15:00"]),
        ("May 3, 2024 at 10:30 am", "en", ["2024-05-03", "T10:30"]),
    ],
)
def test_dates_and_times(text: str, language: str, expected: list[str]) -> None:
    items = of_kind("date", text, language)
    assert [item.value for item in items] == expected
    assert [item for item in read_items(text, language=language) if item.kind == "number"] == []


@pytest.mark.parametrize(
    ("text", "language", "values"),
    [
        ("03/04/2024", "en", ("2024-03-04", "2024-04-03")),
        ("03/04/2024", "en-GB", ("2024-04-03", "2024-03-04")),
        ("03.04.2024", "en", ("2024-04-03", "2024-03-04")),
        ("13/04/2024", "en", ("2024-04-13",)),
        ("04/13/24", "en", ("2024-04-13",)),
        ("at 3:15", "en", ("T03:15", "T15:15")),
        ("15 Jul '19", "en", ("--07-15", "2019-07-15")),
        ("15 Jul 19", "en", ("--07-15", "2019-07-15")),
        ("15 July 19 people came", "en", ("--07-15",)),
        ("at 03:15", "en", ("T03:15",)),
    ],
)
def test_what_is_ambiguous_has_every_reading(text: str, language: str, values: tuple[str, ...]) -> None:
    (item,) = of_kind("date", text, language)
    assert item.values == values


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30",
        "2023-02-29",
        "32 May",
        "13/13/2024",
        "25:70",
        "you may 5x it",
        "set 3 alarms",
        "3 out of 4",
        "5 days ago 3 left",
        "score 3:2",
        "yesterday",
        "next May",
        "tomorrow at noon",
    ],
)
def test_no_such_date(text: str) -> None:
    assert of_kind("date", text) == []


def test_a_leap_day() -> None:
    assert [item.value for item in of_kind("date", "2024-02-29 and February 29, 2024")] == ["2024-02-29"] * 2
    assert [item.value for item in of_kind("date", "29 February")] == ["--02-29"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("order #W1234567 is", "w1234567"),
        ("order W1234567.", "w1234567"),
        ("flight HAT069", "hat069"),
        ("block A-77", "a-77"),
        ("SKU-12-AB", "sku-12-ab"),
        ("id credit_card_4421486", "credit_card_4421486"),
        ("the `order_id_9` field", "order_id_9"),
        ("123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        ("commit d471f14", "d471f14"),
        ("v1.2.3", "v1.2.3"),
        ("version 10.4.2", "10.4.2"),
        ("host 192.168.0.1", "192.168.0.1"),
        ("call +49 30 1234567", "+49 30 1234567"),
        ("call (555) 123-4567", "(555) 123-4567"),
        ("call 555-123-4567", "555-123-4567"),
        ("zip 01922", "01922"),
        ("#4711", "4711"),
        ("**#W77**", "w77"),
        ("gpt-4o", "gpt-4o"),
    ],
)
def test_identifiers(text: str, value: str) -> None:
    assert [item.value for item in of_kind("identifier", text)] == [value]
    assert of_kind("number", text) == []


@pytest.mark.parametrize(
    "text",
    [
        "5kg",
        "3rd",
        "10am",
        "5k",
        "90min",
        "1h30m",
        "a 3-day trip",
        "24-hour",
        "1,000.50",
        "1.234.567",
        "1 000 000",
        "0.05",
        "10-20",
        "$45.02",
    ],
)
def test_numbers_are_no_identifiers(text: str) -> None:
    assert of_kind("identifier", text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("see https://Example.com/a/.", "https://example.com/a"),
        ("see http://www.example.com", "https://example.com"),
        ("see [the page](https://example.com/a?b=1#c)", "https://example.com/a?b=1#c"),
        ("see <https://example.com/a_(b)>", "https://example.com/a_(b)"),
        ("(https://example.com/a)", "https://example.com/a"),
        ("https://example.com/a%20b", "https://example.com/a b"),
        ("https://example.com:443/", "https://example.com"),
        ("see www.example.com/x!", "https://example.com/x"),
        ("see docs.example.org/x", "https://docs.example.org/x"),
        ("**https://example.com/2024/05/03**", "https://example.com/2024/05/03"),
    ],
)
def test_urls(text: str, value: str) -> None:
    assert [item.value for item in of_kind("url", text)] == [value]
    assert [item.kind for item in read_items(text) if item.kind in ("number", "date", "identifier")] == []


def test_emails() -> None:
    text = "Write to **Jane.Doe+1@Example.co.uk**, or info@example.com."
    assert [item.value for item in of_kind("email", text)] == ["jane.doe+1@example.co.uk", "info@example.com"]
    assert [item for item in read_items(text) if item.kind in ("url", "number", "identifier")] == []


@pytest.mark.parametrize(
    "text",
    [
        'He wrote "we ship in three days" today',
        "He wrote “we ship in three days” today",
        "Er schrieb „we ship in three days“ heute",
        "Il écrit « we ship in three days » ici",
        "»we ship in three days«, schrieb er",
        "彼は「we ship in three days」と",
        "He wrote ‘we ship in three days’ today",
    ],
)
def test_quotations(text: str) -> None:
    assert [item.text for item in of_kind("quotation", text)] == ["we ship in three days"]


def test_what_is_short_is_no_quotation() -> None:
    assert of_kind("quotation", 'Click "OK" or "Save as", it is 5" wide and 6" high') == []
    assert [item.text for item in of_kind("quotation", "他说「我们三天内发货」。")] == ["我们三天内发货"]
    assert of_kind("quotation", "他说「三天」。") == []


@pytest.mark.parametrize(
    ("text", "language", "firm"),
    [
        ("The order is with John Smith now.", "en", ["John Smith"]),
        ("It is near the Bank of America.", "en", ["Bank of America"]),
        ("It was J. R. Smith who came.", "en", ["J. R. Smith"]),
        ("Her name is Anne-Marie O'Neil.", "en", ["Anne-Marie O'Neil"]),
        ("In Paris, it rains.", "en", ["Paris"]),
        ("Fly from Denver to Las Vegas then.", "en", ["Denver", "Las Vegas"]),
        ("Fly from Denver (DEN) to Rome then.", "en", ["Rome"]),
        ("**Flight Option 2:** it goes on to Rome", "en", ["Rome"]),
        ("On Monday, May 3, it rains.", "en", []),
        ("Hello! Thanks for asking. Please wait.", "en", []),
        ("### Order Details And More", "en", []),
        ("**Shipping Label**: printed", "en", []),
        ("I'd say it's fine, and I'm sure.", "en", []),
        ("Il habite à Lyon avec Élodie.", "fr", ["Lyon", "Élodie"]),
        ("Die Lieferung kommt mit der Post in die Stadt.", "de", []),
        ("Он живёт в Москве сейчас.", "ru", ["Москве"]),
        ("Μένει στην Αθήνα τώρα.", "el", ["Αθήνα"]),
        ("他住在纽约市。", "zh", []),
        ("東京に住んでいます。", "ja", []),
    ],
)
def test_names(text: str, language: str, firm: list[str]) -> None:
    assert [item.text for item in of_kind("name", text, language) if not item.loose] == firm


def test_a_quotation_may_hold_values_but_no_names() -> None:
    text = 'It says "John Smith pays 120 dollars" there'
    assert [(item.kind, item.value) for item in read_items(text)] == [
        ("quotation", "John Smith pays 120 dollars"),
        ("number", "120"),
    ]


ANY = st.text(st.characters(codec=None), max_size=200)
PIECES = st.lists(
    st.sampled_from(
        [
            *(
                "May 3, 2024",
                "$1,234.50",
                "12%",
                "#W123",
                "a@b.co",
                "https://x.io/a",
                "“we ship in three days”",
                "5 km",
            ),
            *(
                "10:30 am",
                "twenty-one",
                "John Smith",
                "3万5千",
                "٣٤٥",
                "**",
                "|",
                "\n",
                " ",
                "\ud800",
                "\x00",
                "\u202e",
            ),
            *("\u200b", "-", ".", "(", "1 2"),
        ]
    ),
    max_size=20,
).map("".join)


@settings(max_examples=300)
@given(st.one_of(ANY, PIECES), st.sampled_from(["en", "de", "fr", "zh", "ar", "", "xx-YY"]))
def test_every_item_is_where_it_says(text: str, language: str) -> None:
    items = read_items(text, language=language)
    assert list(items) == sorted(items, key=lambda item: (item.start, -item.end))
    for item in items:
        assert 0 <= item.start < item.end <= len(text)
        assert text[item.start : item.end] == item.text
        assert item.value
    values = [item for item in items if item.kind != "quotation"]
    assert all(one.end <= other.start for one, other in pairwise(values))


@pytest.mark.parametrize(
    "text", ["9" * 5000, "1," * 3000, "A1-" * 3000, "“" * 3000, "May " * 3000, "(" * 3000 + "1", "0" * 3000]
)
def test_hostile_text_is_read_in_time_linear_to_its_length(text: str) -> None:
    for item in read_items(text):
        assert text[item.start : item.end] == item.text
