"""The words around numbers: magnitudes, currencies, percent and hedges, in the languages that traces are written in."""

from .items import Hedge
from .vocabulary import words

__all__ = ["CURRENCIES", "HEDGES_AFTER", "HEDGES_BEFORE", "MAGNITUDES", "PERCENT", "magnitude"]

MAGNITUDES: dict[str, int] = {
    word: power
    for power, names in {
        2: "百",
        3: "thousand tausend tsd tsd. mille mil mila duizend tusen tysiąc tysiące tysięcy тыс тыс. тысяча тысячи тысяч "
        "千 천 bin k K",
        4: "万 萬 만",
        5: "lakh lakhs lac लाख",
        6: "million millions mio mio. millionen mill. millón millones milione milioni milhão milhões miljoen miljoenen "
        "milion miliony milionów miljon miljoner млн млн. миллион миллиона миллионов мільйон мільйонів 百万 百萬 "
        "M mn mln mln. milyon",
        7: "crore crores करोड़ 千万 千萬",
        8: "亿 億 억",
        9: "billion billions bn bn. mrd mrd. milliarde milliarden milliard milliards miliardo miliardi bilhão bilhões "
        "miljard miljarden miliard miliardy miliardów miljarder млрд млрд. миллиард миллиарда миллиардов "
        "B G mld mld. milyar",
        12: "trillion trillions tn billionen billón billones bilione bilioni trilhão trilhões biljoen трлн триллион "
        "триллиона триллионов 兆 조 T",
    }.items()
    for word in names.split()
}
"""Magnitude words and suffixes, as they are written, and their power of ten."""
MAGNITUDES["mil millones"] = 9
MAGNITUDES["mil milhões"] = 9
MAGNITUDES["หมื่น"] = 4

_LONG_SCALE = {"de": "billion", "fr": "billion billions", "es": "billion", "nl": "billion", "it": "bilione"}


def magnitude(word: str, language: str) -> int | None:
    """The power of ten that a word stands for: "billion" is 9 in English and 12 in German; None for other words."""
    if word in MAGNITUDES and len(word) == 1:
        return MAGNITUDES[word]
    low = word.lower()
    if low in _LONG_SCALE.get(language.partition("-")[0].lower(), "").split():
        return 12
    return MAGNITUDES.get(low) if len(low) > 1 or not low.isascii() else None


CURRENCIES: dict[str, str] = {
    name: code
    for code, names in {
        "USD": "$ us$ usd dollar dollars dólar dólares доллар доллара долларов ドル 美元 달러 dollari",
        "EUR": "€ eur euro euros ευρώ евро ユーロ 欧元",
        "GBP": "£ gbp pound_sterling pounds_sterling sterling quid",
        "JPY": "¥ jp¥ jpy yen 円",
        "CNY": "cny rmb cn¥ yuan 元 人民币",
        "INR": "₹ inr rs rs. rupee rupees रुपये",
        "RUB": "₽ rub руб руб. рубль рубля рублей",
        "KRW": "₩ krw won 원",
        "BRL": "r$ brl reais",
        "CAD": "c$ ca$ cad",
        "AUD": "a$ au$ aud",
        "HKD": "hk$ hkd",
        "SGD": "s$ sgd",
        "NZD": "nz$ nzd",
        "MXN": "mx$ mxn",
        "TWD": "nt$ twd",
        "CHF": "chf fr. franken",
        "SEK": "sek",
        "NOK": "nok",
        "DKK": "dkk",
        "KR": "kr kr. kronor kroner",
        "PLN": "zł pln złotych",
        "CZK": "kč czk",
        "TRY": "₺ try",
        "ILS": "₪ ils nis",
        "THB": "฿ thb baht",
        "VND": "₫ vnd",
        "UAH": "₴ uah",
        "BTC": "₿ btc",
        "ZAR": "zar",
        "AED": "aed",
        "SAR": "sar",
        "HUF": "huf",
    }.items()
    for name in names.split()
}
"""Currency symbols, codes and names, in lower case, and their ISO 4217 code (`KR` for a krone or krona of any country).
`pounds` alone is a weight as often as money and is read as a weight."""

PERCENT = words(
    "% percent per cent pct prozent pourcent pour cent por ciento por cento per cento procent процент процента "
    "процентов percento パーセント 퍼센트"
) - {"per", "cent", "pour", "por", "ciento", "cento"} | {
    "per cent",
    "pour cent",
    "por ciento",
    "por cento",
    "per cento",
}
"""What says that a number is a share of a hundred."""

_HEDGES: dict[Hedge, str] = {
    "around": "about|approximately|approx.|approx|around|roughly|circa|ca.|ca|c.|some|~|≈|≃|estimated|rund|etwa|"
    "ungefähr|zirka|"
    "gegen|schätzungsweise|environ|autour de|à peu près|quelque|unos|unas|alrededor de|aproximadamente|cerca de|"
    "por volta de|più o meno|all'incirca|intorno a|ongeveer|omstreeks|около|примерно|приблизительно|omkring|około|"
    "大约|大約|约|約|およそ|おおよそ|대략|약",
    "below": "nearly|almost|just under|just below|under|less than|fewer than|close to|up to|knapp|fast|beinahe|"
    "weniger als|"
    "unter|presque|près de|moins de|casi|menos de|quase|quasi|meno di|bijna|minder dan|почти|менее|近|将近|不到",
    "above": "over|more than|just over|just above|above|at least|upwards of|über|mehr als|gut|mindestens|plus de|"
    "au moins|"
    "más de|al menos|mais de|pelo menos|più di|oltre|almeno|meer dan|ruim|более|больше|超过|超過",
}
HEDGES_BEFORE: dict[str, Hedge] = {phrase: hedge for hedge, group in _HEDGES.items() for phrase in group.split("|")}
"""Words before a number that announce rounding, in lower case."""
HEDGES_AFTER: dict[str, Hedge] = {
    **dict.fromkeys(("or so", "-ish", "ish", "approximately", "roughly", "左右", "上下", "前後", "ほど"), "around"),
    **dict.fromkeys(("+", "odd", "多", "余", "以上"), "above"),
}
"""Words after a number that announce rounding."""
