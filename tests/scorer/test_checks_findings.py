"""Findings: found, derived, contradicted, not found, by hand-written claims over hand-written evidence."""

import pytest

from groundwire.scorer.checks import EvidenceIndex, run_checks
from groundwire.scorer.claims import Check
from groundwire.scorer.evidence import Block, Shown, View


def index(*texts: str, language: str = "en") -> EvidenceIndex:
    blocks = [Block(name=f"E{number}", kind="tool", text=text) for number, text in enumerate(texts, 1)]
    return EvidenceIndex.of(
        View(shown=tuple(Shown(block=block, text=block.text) for block in blocks)), language=language
    )


def checks(claim: str, *texts: str, language: str = "en") -> list[Check]:
    return list(run_checks(claim, index(*texts, language=language), language=language))


def outcomes(claim: str, *texts: str, language: str = "en") -> list[str]:
    return [check.outcome for check in checks(claim, *texts, language=language)]


def test_data_is_evidence_with_its_path() -> None:
    found = checks("It is 21 C, with wind of 14 km/h.", '{"temp_c":21,"wind":{"kmh":14}}')
    assert [(one.check, one.outcome, one.block, one.path, one.quote) for one in found] == [
        ("unit", "found", "E1", "$.temp_c", "21"),
        ("unit", "found", "E1", "$.wind.kmh", "14"),
    ]


def test_markdown_hides_no_number() -> None:
    (check,) = checks("The population is **999** million.", "The population of France is 67 million.")
    assert (check.outcome, check.text, check.value) == ("contradicted", "999** million", "999000000")
    assert (check.block, check.quote) == ("E1", "67 million")


@pytest.mark.parametrize(
    ("claim", "evidence", "language"),
    [
        ("It costs $1,234.50.", '{"price": 1234.5}', "en"),
        ("Es kostet 1.234,50 €.", '{"price": 1234.5, "currency": "EUR"}', "de"),
        ("Il coûte 1 234,50 €.", "Price: EUR 1,234.50", "fr"),
        ("It has 1.2 million users.", '{"users": 1200000}', "en"),
        ("有120万用户。", '{"users": 1200000}', "zh"),
        ("عددهم ٣٤٥ شخصا.", '{"count": 345}', "ar"),
        ("A quarter, 25 %, left.", '{"share": 0.25}', "en"),
        ("The share is 0.25 now.", "25 % left", "en"),
        ("It grew by 12 percent.", '{"growth_pct": 12}', "en"),
        ("It takes 90 min.", '{"duration": "1.5 h"}', "en"),
        ("It takes 1.5 hours.", '{"duration_minutes": 90}', "en"),
        ("It is 1.2 km away.", '{"distance_m": 1200}', "en"),
        ("It is 212 °F.", '{"temp_c": 100}', "en"),
        ("It weighs 500 g.", '{"weight_kg": 0.5}', "en"),
        ("There are twenty-one bags.", '{"bags": 21}', "en"),
        ("There are 21 bags.", "We counted twenty-one bags.", "en"),
        ("About 1,200 people came.", '{"people": 1187}', "en"),
        ("Nearly 2 million people came.", '{"people": 1930000}', "en"),
        ("Rund 1.200 Leute kamen.", '{"people": 1187}', "de"),
        ("Environ 13 km.", '{"distance_km": 12.7}', "fr"),
        ("Unos 25 días.", '{"days": 24.6}', "es"),
        ("It is about 13 miles away.", '{"distance_km": 21}', "en"),
        ("Over 300 shops sell it.", '{"shops": 312}', "en"),
        ("It leaves on May 3, 2024.", '{"departure": "2024-05-03T10:00:00Z"}', "en"),
        ("It leaves on May 3.", '{"departure": "2024-05-03"}', "en"),
        ("It leaves on May 3, 2024.", "The year is 2024. It leaves on May 3.", "en"),
        ("It leaves in May 2024.", '{"departure": "2024-05-03"}', "en"),
        ("It leaves in 2024.", '{"departure": "2024-05-03"}', "en"),
        ("Abfahrt am 3. Mai 2024.", '{"departure": "2024-05-03"}', "de"),
        ("Départ le 3 mai 2024.", '{"departure": "05/03/2024"}', "fr"),
        ("出发日期是2024年5月3日。", '{"departure": "2024-05-03"}', "zh"),
        ("It leaves at 2:30 pm.", '{"departure": "2024-05-03T14:30:00"}', "en"),
        ("It leaves at 14:30.", "Departure 2:30 PM", "en"),
        ("At 2024-05-03T12:30:00Z.", '{"at": "2024-05-03T14:30:00+02:00"}', "en"),
        ("Order W1234567 is here.", '{"id": "#W1234567"}', "en"),
        ("Order #W1234567 is here.", '{"id": 1234567}', "en"),
        ("Order 1234567 is here.", '{"id": "#W1234567"}', "en"),
        ("Flight 069 is late.", '{"flight": "HAT069"}', "en"),
        ("Block A77 is next.", '{"block": "A-77"}', "en"),
        ("The card ending in 4486.", '{"id": "credit_card_4421484486"}', "en"),
        ("Your credit card 4421486.", '{"id": "credit_card_4421486"}', "en"),
        ("Call 555-123-4567.", '{"phone": "(555) 123 4567"}', "en"),
        ("Version 1.2.3 is out.", '{"tag": "v1.2.3"}', "en"),
        ("Mail JANE@example.com.", '{"email": "jane@example.com"}', "en"),
        ("See [here](https://example.com/a/).", '{"url": "http://www.example.com/a"}', "en"),
        ("See www.example.com.", '{"url": "https://example.com/a/b"}', "en"),
        ('It says "we ship  in 3 days" there.', "Note: We ship in 3\ndays, always.", "en"),
        ("It says “it’s all fine here” there.", '{"note": "it\'s all \\"fine\\" or it\'s all fine here"}', "en"),
        ("It goes to New York's centre, for Ann.", '{"city": "new_york", "name": "Ann"}', "en"),
        ("It goes to Zürich and PayPal.", '{"city": "Zurich", "by": "paypal"}', "en"),
        ("Contact Alice for it.", '{"who": "alice"}', "en"),
        ("Он живёт в Москве.", "Адрес: в Москве", "ru"),
        ("Take 1,000.", "1 000 of them", "en"),
        ("In the 1990s it grew.", '{"founded": 1994}', "en"),
        ("In the 16th century it grew.", "Founded 1567 in Antwerp", "en"),
        ("Im 16. Jahrhundert wuchs es.", "Founded 1567 in Antwerp", "de"),
        ("It is in the U.S. now.", "a US company", "en"),
        ("It is in the US now.", "a U.S. company", "en"),
        ("The eight of them.", "the top-8 nations", "en"),
        ("On 16 April 2015 and 26 April 2015.", "Zug, 16-26 April 2015", "en"),
        ("Rooms 5 200 are free.", "Rooms 5 and 200", "en"),
    ],
)
def test_found(claim: str, evidence: str, language: str) -> None:
    assert set(outcomes(claim, evidence, language=language)) == {"found"}


@pytest.mark.parametrize(
    ("claim", "evidence", "kind"),
    [
        ("It holds 1,200 in all.", '{"people": 1187}', "number"),
        ("About 1,200 came.", '{"people": 1650}', "number"),
        ("Nearly 1,200 came.", '{"people": 1230}', "number"),
        ("Over 300 came.", '{"people": 290}', "number"),
        ("There is $120 left.", "The balance is €120 today.", "number"),
        ("It is 5 miles off.", "It is 5 km off from here.", "unit"),
        ("It holds 5 kg then.", "It is 5 km off from here.", "unit"),
        ("It is 25 % then.", "It has 0.52 of it", "number"),
        ("Code 234 works.", '{"n": 1234}', "number"),
        ("It has 99 of them.", '{"id": "W1999"}', "number"),
        ("In the 1980s it grew.", '{"founded": 1994}', "number"),
        ("In the 15th century it grew.", "Founded 1567 in Antwerp", "number"),
        ("It says 5 here.", '{"v": "1.5.2"}', "number"),
        ("On May 4 then.", '{"note": "2024-05-03"}', "date"),
        ("On May 3, 2023 then.", '{"note": "May 3"}', "date"),
        ("At 3:30 pm then.", '{"note": "15:00"}', "date"),
        ("Take X1234567 now.", '{"id": "W1234567"}', "identifier"),
        ("Mail joe@example.com.", '{"email": "jane@example.com"}', "email"),
        ("See https://example.com/b.", '{"url": "https://example.com/a"}', "url"),
        ('It says "we ship in two days" there.', "We ship in three days; two days never.", "quotation"),
        ("Ask for John Smith then.", '{"name": "Jon Smith"}', "name"),
        ("Ask for John Smith then.", "", "name"),
    ],
)
def test_not_found(claim: str, evidence: str, kind: str) -> None:
    assert [(one.check, one.outcome) for one in checks(claim, evidence) if one.outcome != "found"] == [
        (kind, "not_found")
    ]


ORDER = """{"order": "W1", "items": [{"name": "Lamp", "price": 150.01}, {"name": "Desk", "price": 200.5},
{"name": "Sofa", "price": 400.25}, {"name": "Rug", "price": 20.0}], "paid": 800.0, "available": [true, false]}"""


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        ("Both cost $350.51 together.", "350.51"),  # 150.01 + 200.50
        ("The three cost $750.76 together.", "750.76"),  # 150.01 + 200.50 + 400.25
        ("The difference is $50.49.", "50.49"),  # 200.50 - 150.01
        ("All four cost $770.76.", "770.76"),  # the list's total
        ("Three lamps cost $450.03.", "450.03"),  # 3 x 150.01
        ("You get $29.24 back.", "29.24"),  # 800 - 770.76
        ("There are 4 pieces.", "4"),  # elements of the list
    ],
)
def test_derived(claim: str, value: str) -> None:
    (check,) = [one for one in checks(claim, ORDER) if one.value == value]
    assert check.outcome == "derived"


@pytest.mark.parametrize("claim", ["They cost $351.51.", "You get $29.25 back.", "There are 11 pieces."])
def test_what_does_not_follow_is_not_derived(claim: str) -> None:
    assert "derived" not in outcomes(claim, ORDER)


def test_amounts_are_known_by_the_key_above_them() -> None:
    fares = ", ".join(f'{{"prices": {{"economy": {price}}}}}' for price in (123, 167, 1001, 5003, 7007))
    assert outcomes("The total is $290.", f"[{fares}]") == ["derived"]


def test_amounts_of_two_currencies_make_no_sum() -> None:
    evidence = "The lamp costs €20 and the desk costs €35."
    assert outcomes("Both cost €55 together.", evidence) == ["derived"]
    assert outcomes("Both cost $55 together.", evidence) == ["not_found"]


@pytest.mark.parametrize(
    ("claim", "evidence", "outcome"),
    [
        ("It lands on May 27, 2024.", '{"date": "2024-05-26", "arrival": "02:00:00+1"}', "derived"),
        ("It lands on May 27, 2024.", '{"date": "2024-05-26", "arrival": "02:00:00"}', "not_found"),
        ("It lands the next day, March 1.", '{"date": "2023-02-28"}', "derived"),
        ("It lands the next day, March 2.", '{"date": "2023-02-28"}', "not_found"),
        ("It lands overnight, on January 1, 2025.", '{"date": "2024-12-31"}', "derived"),
    ],
)
def test_the_next_day_is_derived_where_something_says_so(claim: str, evidence: str, outcome: str) -> None:
    assert [one.outcome for one in checks(claim, evidence) if one.check == "date"] == [outcome]


def test_counts_of_equal_values() -> None:
    rows = (
        '{"variants": {'
        + ", ".join(f'"{n}": {{"available": {"true" if n % 3 else "false"}}}' for n in range(1001, 1016))
        + "}}"
    )
    assert outcomes("There are 10 available options of 15.", rows) == ["derived", "derived"]
    assert outcomes("There are 11 available options.", rows) == ["not_found"]


@pytest.mark.parametrize(
    ("claim", "evidence", "quote", "path"),
    [
        ("The price is $120.", '{"price": 150}', "150", "$.price"),
        ("The temperature is 25 °C.", '{"temp_c": 21}', "21", "$.temp_c"),
        ("The flight departs on May 4.", '{"departure_date": "2024-05-03"}', None, None),
        ("The departure date is 2024-05-04.", '{"departure_date": "2024-05-03"}', "2024-05-03", "$.departure_date"),
        (
            "The Paris hotel has a price of $120.",
            '[{"city": "Paris", "price": 150}, {"city": "Rome", "price": 99}]',
            "150",
            "$[0].price",
        ),
        (
            "Shipping takes 9 days for the standard plan.",
            "For the standard plan, shipping takes 5 days.",
            "5 days",
            None,
        ),
        ("The tax is 20 percent.", '{"tax_pct": 19, "price": 3}', "19", "$.tax_pct"),
    ],
)
def test_contradicted(claim: str, evidence: str, quote: str | None, path: str | None) -> None:
    (check,) = [one for one in checks(claim, evidence) if one.outcome != "found"]
    if quote is None:
        assert check.outcome == "not_found"
    else:
        assert (check.outcome, check.quote, check.path) == ("contradicted", quote, path)


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The hotels cost $120.", '[{"price": 150}, {"price": 99}]'),  # which of them?
        ("It weighs 120 kg.", '{"price": 150}'),  # another thing
        ("I paid $120.", '{"price": 150}'),  # nothing says that it is the price
        ("The price rose from 150 to 120.", '{"price": 150}'),  # the evidence's value is in the claim too
        ("The price in total is $120.", '{"price": 150}'),  # a total is another thing than its parts
        ("The cat slept for 9 days.", "For the standard plan, shipping takes 5 days."),
    ],
)
def test_not_contradicted(claim: str, evidence: str) -> None:
    assert "contradicted" not in outcomes(claim, evidence)


def test_of_several_places_the_one_spoken_of_is_cited() -> None:
    data = '{"rooms": 150, "price": 150, "guests": 150}'
    (check,) = checks("The price is $150.", data)
    assert check.path == "$.price"
    assert [
        one.block for one in checks("Paris has 7 parks.", "Rome: 7 hills", "Paris: 7 parks") if one.check == "number"
    ] == ["E2"]


def test_loose_items_are_missed_by_nobody() -> None:
    assert outcomes("One of the two options fits.", "no figures here") == []
    assert outcomes("Delivery is free.", "no names here") == []
    assert [one.value for one in checks("The two options fit.", '{"options": 2}')] == ["2"]


def test_offsets_are_those_of_the_claim() -> None:
    claim = "Pay **$120** to Bo Li by 3 May."
    for check in checks(claim, '{"x": 1}'):
        assert claim[check.start : check.end] == check.text
