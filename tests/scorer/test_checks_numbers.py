"""Numbers, quantities and number words: what a text is read as, in the writing of many locales."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.scorer.checks import Item, read_items
from groundwire.scorer.checks.numerals import canonical, parse_numeral, shift
from groundwire.scorer.checks.units import base


def values(text: str, language: str = "en") -> list[tuple[str, str | None]]:
    return [(item.value, item.unit) for item in read_items(text, language=language) if item.kind in ("number", "unit")]


def only(text: str, language: str = "en") -> Item:
    (item,) = [item for item in read_items(text, language=language) if item.kind in ("number", "unit")]
    return item


@pytest.mark.parametrize(
    ("text", "language", "value"),
    [
        ("It has 1,234.5 parts", "en", "1234.5"),
        ("Es sind 1.234,5 Teile", "de", "1234.5"),
        ("Il y a 1 234,5 unités", "fr", "1234.5"),
        ("Il y a 1\u202f234,5 unités", "fr", "1234.5"),
        ("Il y a 1\u00a0234\u00a0567 habitants", "fr", "1234567"),
        ("Es sind 1'234.5 Stück", "de-CH", "1234.5"),
        ("Es sind 1’234’567 Stück", "de-CH", "1234567"),
        ("It cost 12,34,567 in all", "en-IN", "1234567"),
        ("It cost 1,23,45,678.50 in all", "en-IN", "12345678.5"),
        ("1,234 people", "en", "1234"),
        ("1.234 Personen", "de", "1234"),
        ("1,234 Teile", "de", "1.234"),
        ("1.234 parts", "en", "1.234"),
        ("0.123 parts", "en", "0.123"),
        ("0,5 Teile", "de", "0.5"),
        ("007.50 parts", "en", "7.5"),
        (".75 of it", "en", "0.75"),
        ("It fell to -3.20 points", "en", "-3.2"),
        ("It fell to −4 points", "en", "-4"),
        ("6.02e23 atoms", "en", "602000000000000000000000"),
        ("1.5e-3 parts", "en", "0.0015"),
        ("2½ cups", "en", "2.5"),
        ("٣٤٥ شخص", "ar", "345"),
        ("١٬٢٣٤٫٥ وحدة", "ar", "1234.5"),
        ("१२३ लोग", "hi", "123"),
        ("１２３ 個", "ja", "123"),
        ("𝟕𝟕 things", "en", "77"),
        ("the **999** of them", "en", "999"),
        ("the `42` of them", "en", "42"),
        ("the __17__ of them", "en", "17"),
        ("the ~~18~~ of them", "en", "18"),
        ("| 19 | x |", "en", "19"),
        ("(20)", "en", "20"),
        ("<b>21</b>", "en", "21"),
        ("the 3rd try", "en", "3"),
        ("la 4ème fois", "fr", "4"),
        ("el 5º lugar", "es", "5"),
        ("a 3-day pass? no: a 3-person tent", "en", "3"),
    ],
)
def test_plain_numbers(text: str, language: str, value: str) -> None:
    assert value in [found for found, _ in values(text, language)]


@pytest.mark.parametrize(
    ("text", "language", "value", "unit"),
    [
        ("2.5 million people", "en", "2500000", None),
        ("**2.5** million people", "en", "2500000", None),
        ("5k users", "en", "5000", None),
        ("5M users", "en", "5000000", None),
        ("$5m", "en", "5000000", "USD"),
        ("$1.2bn", "en", "1200000000", "USD"),
        ("2 Mio. Menschen", "de", "2000000", None),
        ("1,5 Mrd. €", "de", "1500000000", "EUR"),
        ("3 Tsd. Stück", "de", "3000", None),
        ("2 Billionen Euro", "de", "2000000000000", "EUR"),
        ("2 billion euros", "en", "2000000000", "EUR"),
        ("2 billion euros", "fr", "2000000000000", "EUR"),
        ("3 millones de euros", "es", "3000000", None),
        ("3 mil millones", "es", "3000000000", None),
        ("4 milhões", "pt", "4000000", None),
        ("4 miliardi", "it", "4000000000", None),
        ("5 miljoen", "nl", "5000000", None),
        ("5 млн человек", "ru", "5000000", None),
        ("6 тысяч", "ru", "6000", None),
        ("7 milliards", "fr", "7000000000", None),
        ("3万人", "zh", "30000", None),
        ("1.2亿人", "zh", "120000000", None),
        ("1億2000万人", "ja", "120000000", None),
        ("3万5千人", "ja", "35000", None),
        ("5 lakh", "en-IN", "500000", None),
        ("2 crore", "en-IN", "20000000", None),
        ("12%", "en", "12", "%"),
        ("12 %", "fr", "12", "%"),
        ("12 percent", "en", "12", "%"),
        ("12 per cent", "en", "12", "%"),
        ("12 Prozent", "de", "12", "%"),
        ("12 pour cent", "fr", "12", "%"),
        ("12 por ciento", "es", "12", "%"),
        ("١٢٪", "ar", "12", "%"),
        ("１２％", "ja", "12", "%"),
        ("$1,234.50", "en", "1234.5", "USD"),
        ("-$54.04", "en", "-54.04", "USD"),
        ("US$ 20", "en", "20", "USD"),
        ("USD 20", "en", "20", "USD"),
        ("20 USD", "en", "20", "USD"),
        ("20 dollars", "en", "20", "USD"),
        ("€20", "en", "20", "EUR"),
        ("20,50 €", "de", "20.5", "EUR"),
        ("20 euros", "es", "20", "EUR"),
        ("£7", "en", "7", "GBP"),
        ("¥500", "en", "500", "JPY"),
        ("500円", "ja", "500", "JPY"),
        ("300元", "zh", "300", "CNY"),
        ("3万元", "zh", "30000", "CNY"),
        ("Rs. 500", "en-IN", "500", "INR"),
        ("₹1,00,000", "en-IN", "100000", "INR"),
        ("R$ 30,00", "pt", "30", "BRL"),
        ("CHF 1'200.50", "de-CH", "1200.5", "CHF"),
        ("100 zł", "pl", "100", "PLN"),
        ("100 руб.", "ru", "100", "RUB"),
    ],
)
def test_magnitudes_percent_and_currency(text: str, language: str, value: str, unit: str | None) -> None:
    assert values(text, language) == [(value, unit)]


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("5 km", "5", "km"),
        ("5km", "5", "km"),
        ("14 km/h", "14", "km/h"),
        ("60 mph", "60", "mph"),
        ("60 miles per hour", "60", "mph"),
        ("3 miles", "3", "mi"),
        ("6 ft", "6", "ft"),
        ("70 kg", "70", "kg"),
        ("150 lbs", "150", "lb"),
        ("2.5 litres", "2.5", "l"),
        ("500ml", "500", "ml"),
        ("90 min", "90", "min"),
        ("1.5 hours", "1.5", "h"),
        ("a 24-hour stay", "24", "h"),
        ("7 business days: no; 7 days: yes", "7", "d"),
        ("21 °C", "21", "°C"),
        ("21°C", "21", "°C"),
        ("21 C", "21", "°C"),
        ("-5 °C", "-5", "°C"),
        ("70 degrees Fahrenheit", "70", "°F"),
        ("16 GB", "16", "GB"),
        ("512 MB", "512", "MB"),
        ("100 Mbps", "100", "Mbit/s"),
        ("50 m²", "50", "m²"),
        ("50 square meters", "50", "m²"),
        ("3 GHz", "3", "GHz"),
        ("2 kWh", "2", "kWh"),
        ("2 Stunden", "2", "h"),
        ("3 heures", "3", "h"),
        ("4 horas", "4", "h"),
        ("5 giorni", "5", "d"),
        ("5 часов", "5", "h"),
        ("14公里", "14", "km"),
        ("30分钟", "30", "min"),
        ("2時間", "2", "h"),
        ("**12** kg", "12", "kg"),
    ],
)
def test_quantities(text: str, value: str, unit: str) -> None:
    assert (value, unit) in values(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("twenty-one bags", "21"),
        ("three bags", "3"),
        ("three point five million users", "3500000"),
        ("two hundred thousand users", "200000"),
        ("one hundred and five users", "105"),
        ("two dozen eggs", "24"),
        ("the fifth floor", "5"),
        ("seven percent", "7"),
        ("Twelve apply", "12"),
    ],
)
def test_english_number_words(text: str, value: str) -> None:
    assert values(text)[0][0] == value


@pytest.mark.parametrize(
    "text",
    [
        "the first one",
        "a second look",
        "someone",
        "anyone often",
        "tension",
        "1. First\n2. Next",
        "**1.** First",
        "3) Last",
    ],
)
def test_what_counts_nothing_is_no_firm_number(text: str) -> None:
    assert [item for item in read_items(text) if item.kind == "number" and not item.loose] == []


def test_a_range_shares_magnitude_and_unit() -> None:
    assert values("10–20 million") == [("10000000", None), ("20000000", None)]
    assert values("5-10 km") == [("5", "km"), ("10", "km")]
    assert values("5 to 10 %") == [("5", "%"), ("10", "%")]
    assert values("$5-$10") == [("5", "USD"), ("10", "USD")]
    assert values("5, 10 km") == [("5", None), ("10", "km")]


@pytest.mark.parametrize(
    ("text", "language", "hedge", "grain"),
    [
        ("about 1,200 people", "en", "around", "100"),
        ("approximately 2.5 parts", "en", "around", "0.1"),
        ("nearly 2 million people", "en", "below", "1000000"),
        ("almost 50 %", "en", "below", "10"),
        ("over 300 shops", "en", "above", "100"),
        ("~40 shops", "en", "around", None),
        ("40 or so", "en", "around", "10"),
        ("rund 1.200 Leute", "de", "around", "100"),
        ("knapp 40 Leute", "de", "below", "10"),
        ("environ 12 personnes", "fr", "around", "1"),
        ("près de 30 personnes", "fr", "below", "10"),
        ("unos 25 días", "es", "around", "1"),
        ("casi 40 personas", "es", "below", "10"),
        ("cerca de 40 pessoas", "pt", "around", "10"),
        ("quasi 40 persone", "it", "below", "10"),
        ("ongeveer 40 mensen", "nl", "around", "10"),
        ("около 40 человек", "ru", "around", "10"),
        ("约40人", "zh", "around", "10"),
        ("40人左右", "zh", None, None),
        ("exactly 40 people", "en", None, None),
    ],
)
def test_announced_rounding(text: str, language: str, hedge: str | None, grain: str | None) -> None:
    item = only(text, language)
    assert item.hedge == hedge
    if grain is not None:
        assert item.grain == grain


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("90", "min"), ("1.5", "h")),
        (("1.2", "km"), ("1200", "m")),
        (("1", "mi"), ("1609.344", "m")),
        (("212", "°F"), ("100", "°C")),
        (("0", "°C"), ("273.15", "K")),
        (("36", "km/h"), ("10", "m/s")),
        (("2", "GB"), ("2000", "MB")),
        (("1", "GiB"), ("1024", "MiB")),
        (("2", "wk"), ("14", "d")),
        (("1", "yr"), ("12", "mo")),
        (("16", "oz"), ("1", "lb")),
        (("1", "l"), ("1000", "ml")),
    ],
)
def test_conversion_is_exact(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert base(*one) == base(*other) is not None


def test_a_day_is_no_length() -> None:
    assert base("1", "d") != base("86400", "m")
    assert base("1", "no unit") is None
    assert base("9" * 60, "km") is None


def _write(number: int, cents: int, group: str, mark: str, *, indian: bool = False) -> str:
    digits = str(number)
    head, tail = (digits[:-3], digits[-3:]) if len(digits) > 3 else ("", digits)
    size = 2 if indian else 3
    groups: list[str] = []
    while head:
        groups.insert(0, head[-size:])
        head = head[:-size]
    return group.join([*groups, tail]) + (f"{mark}{cents:02d}" if cents else "")


LOCALES = [
    ("en", ",", "."),
    ("de", ".", ","),
    ("fr", " ", ","),
    ("fr", "\u202f", ","),
    ("de-CH", "’", "."),
    ("ru", "\u00a0", ","),
]


@given(st.integers(0, 10**15), st.integers(1, 99), st.sampled_from(LOCALES))
def test_a_number_means_the_same_in_every_locale(number: int, cents: int, locale: tuple[str, str, str]) -> None:
    language, group, mark = locale
    text = f"x {_write(number, cents, group, mark)} y"
    item = only(text, language)
    assert Decimal(item.value) == Decimal(number) + Decimal(cents) / 100
    assert item.others == ()
    assert text[item.start : item.end] == item.text


@given(st.integers(10**6, 10**12), st.sampled_from(LOCALES))
def test_a_grouped_whole_number_means_the_same_in_every_locale(number: int, locale: tuple[str, str, str]) -> None:
    language, group, mark = locale
    assert only(f"x {_write(number, 0, group, mark)} y", language).value == str(number)


@given(st.integers(10**5, 10**12), st.integers(0, 99))
def test_indian_grouping(number: int, cents: int) -> None:
    item = only(f"x {_write(number, cents, ',', '.', indian=True)} y", "en-IN")
    assert Decimal(item.value) == Decimal(number) + Decimal(cents) / 100


@given(st.decimals(-(10**12), 10**12, places=4), st.integers(-8, 12))
def test_shifting_is_multiplying_by_a_power_of_ten(number: Decimal, places: int) -> None:
    whole, _, fraction = f"{abs(number):f}".partition(".")
    value = canonical(whole, fraction, negative=number < 0)
    assert Decimal(value) == number
    assert Decimal(shift(value, places)) == number.scaleb(places)
    assert shift(shift(value, places), -places) == value


def test_an_ambiguous_numeral_has_both_values() -> None:
    assert parse_numeral("1,234", "en") == ("1234", "1.234")
    assert parse_numeral("1,234", "de") == ("1.234", "1234")
    assert parse_numeral("1.234", "en") == ("1.234", "1234")
    assert parse_numeral("1.234", "pt-BR") == ("1234", "1.234")
    assert parse_numeral("0.234", "en") == ("0.234",)
    assert parse_numeral("1,234,567", "de") == ("1234567",)
