"""Units: their symbols and names in several languages, and exact conversion inside one dimension."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from .numerals import exact
from .vocabulary import words

__all__ = ["LONE_LETTERS", "UNITS", "Unit", "base", "based", "key_unit", "same_dimension"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """A unit of measurement: `base value = (value + offset) x factor`, exactly."""

    symbol: str
    dimension: str
    factor: Fraction
    offset: Fraction = Fraction(0)


# dimension: {symbol: (factor to the base unit, names in lower case divided by "|")}; factors are exact by definition
# (international yard and pound, SI, IEC 80000-13).
_TABLE: dict[str, dict[str, tuple[str, str]]] = {
    "length": {
        "mm": (
            "1/1000",
            "millimeter|millimeters|millimetre|millimetres|millimètres|milímetros|millimetri|毫米|миллиметров",
        ),
        "cm": (
            "1/100",
            "centimeter|centimeters|centimetre|centimetres|zentimeter|centimètres|centímetros|centimetri|厘米|см",
        ),
        "m": (
            "1",
            "meter|meters|metre|metres|mètre|mètres|metro|metros|metri|metern|米|公尺|メートル|метр|метра|метров|м",
        ),
        "km": (
            "1000",
            "kilometer|kilometers|kilometre|kilometres|kilometern|kilomètre|kilomètres|kilómetro|kilómetros|quilómetros|"
            "quilômetros|chilometro|chilometri|公里|千米|キロメートル|km|км|километр|километра|километров|kms",
        ),
        "in": ("0.0254", "inch|inches|zoll|pouces|pulgadas|pollici|polegadas|英寸"),
        "ft": ("0.3048", "foot|feet|pieds|pies|piedi|英尺"),
        "yd": ("0.9144", "yard|yards"),
        "mi": ("1609.344", "mile|miles|meile|meilen|millas|miglia|milhas|mijl|英里"),
        "nmi": ("1852", "nautical mile|nautical miles|seemeilen"),
    },
    "area": {
        "cm²": ("1/10000", "cm2|square centimeters|square centimetres"),
        "m²": (
            "1",
            "m2|qm|sqm|sq m|square meter|square meters|square metre|square metres|quadratmeter|mètres carrés|"
            "metros cuadrados|metri quadrati|metros quadrados|vierkante meter|平方米|平米",
        ),
        "km²": (
            "1000000",
            "km2|square kilometer|square kilometers|square kilometre|square kilometres|quadratkilometer|"
            "kilomètres carrés|kilómetros cuadrados|平方公里",
        ),
        "ha": ("10000", "hectare|hectares|hektar|hectáreas|ettari|公顷"),
        "ft²": ("0.09290304", "ft2|sq ft|sqft|square foot|square feet"),
        "acre": ("4046.8564224", "acres"),
        "mi²": ("2589988.110336", "mi2|sq mi|square mile|square miles"),
    },
    "volume": {
        "ml": ("1/1000", "milliliter|milliliters|millilitre|millilitres|mililitros|millilitri|毫升|мл"),
        "cl": ("1/100", "centiliters|centilitres"),
        "l": ("1", "liter|liters|litre|litres|litro|litros|litri|litern|升|リットル|литр|литра|литров"),
        "m³": ("1000", "m3|cubic meter|cubic meters|cubic metre|cubic metres|kubikmeter|立方米"),
        "gal": ("3.785411784", "gallon|gallons|加仑"),
        "fl oz": ("0.0295735295625", "fluid ounce|fluid ounces|fl. oz|fl. oz."),
        "qt": ("0.946352946", "quart|quarts"),
    },
    "mass": {
        "mg": ("1/1000000", "milligram|milligrams|milligramm|milligrammes|miligramos|毫克|мг"),
        "g": ("1/1000", "gram|grams|gramm|gramme|grammes|gramos|grammi|gramas|克|グラム|г|грамм|граммов"),
        "kg": (
            "1",
            "kgs|kilo|kilos|kilogram|kilograms|kilogramm|kilogramme|kilogrammes|kilogramos|kilogrammi|chili|quilos|"
            "quilogramas|公斤|千克|キログラム|кг|килограмм|килограммов",
        ),
        "t": ("1000", "tonne|tonnes|tonnen|tonnellate|toneladas|metric tons|metric ton|吨|トン|тонн|тонны"),
        "oz": ("0.028349523125", "ounce|ounces|unzen|onzas"),
        "lb": ("0.45359237", "lbs|lb.|lbs.|pound|pounds|libras|磅"),
    },
    "time": {
        "ms": ("1/1000", "msec|millisecond|milliseconds|millisekunden|millisecondes|milisegundos|毫秒|мс"),
        "s": (
            "1",
            "sec|secs|sec.|second|seconds|sek|sek.|sekunde|sekunden|seconde|secondes|secondi|segundo|segundos|"
            "seconden|秒|秒钟|секунд|секунды|сек",
        ),
        "min": ("60", "mins|min.|minute|minutes|minuten|minuto|minutos|minuti|minuut|分钟|分鐘|минут|минуты|мин|분"),
        "h": (
            "3600",
            "hr|hrs|hr.|hrs.|hour|hours|std|std.|stunde|stunden|heure|heures|hora|horas|ora|ore|uur|小时|小時|時間|"
            "час|часа|часов|시간",
        ),
        "d": (
            "86400",
            "day|days|tag|tage|tagen|jour|jours|día|días|dia|dias|giorno|giorni|dag|dagen|天|日間|дня|дней|день",
        ),
        "wk": (
            "604800",
            "week|weeks|wks|woche|wochen|semaine|semaines|semana|semanas|settimana|settimane|weken|周|星期|週間|"
            "недели|недель|неделя",
        ),
    },
    "months": {
        "mo": (
            "1",
            "month|months|mos|monat|monate|monaten|mois|mes|meses|mese|mesi|mês|maand|maanden|个月|個月|か月|ヶ月|месяц|"
            "месяца|месяцев",
        ),
        "yr": (
            "12",
            "year|years|yrs|jahr|jahre|jahren|an|ans|année|années|año|años|anno|anni|ano|anos|jaar|年间|年間|год|года|лет",
        ),
    },
    "temperature": {
        "°C": ("1", "℃|°c|degrees celsius|degree celsius|celsius|deg c|degc|grad celsius|grad|摄氏度|度"),
        "°F": ("5/9", "℉|°f|degrees fahrenheit|degree fahrenheit|fahrenheit|deg f|degf|华氏度"),
        "K": ("1", "kelvin"),
    },
    "angle": {"°": ("1", "deg|degree|degrees|degrés|grados|gradi|graus")},
    "data": {
        "bit": ("1", "bits"),
        "B": ("8", "byte|bytes|octets|字节"),
        "kB": ("8000", "kilobyte|kilobytes|kb"),
        "MB": ("8000000", "megabyte|megabytes|mb|mo"),
        "GB": ("8000000000", "gigabyte|gigabytes|gb|gb"),
        "TB": ("8000000000000", "terabyte|terabytes|tb"),
        "KiB": ("8192", "kibibytes|kib"),
        "MiB": ("8388608", "mebibytes|mib"),
        "GiB": ("8589934592", "gibibytes|gib"),
        "TiB": ("8796093022208", "tib"),
        "Mbit": ("1000000", "megabit|megabits|mbit"),
        "Gbit": ("1000000000", "gigabit|gigabits|gbit"),
    },
    "data rate": {
        "kbit/s": ("1000", "kbps|kbit/s|kb/s"),
        "Mbit/s": ("1000000", "mbps|mbit/s"),
        "Gbit/s": ("1000000000", "gbps|gbit/s"),
        "MB/s": ("8000000", ""),
    },
    "speed": {
        "m/s": ("1", "meters per second|metres per second|mps|米/秒|м/с"),
        "km/h": (
            "5/18",
            "kmh|kph|km/hr|kilometers per hour|kilometres per hour|kilometer pro stunde|stundenkilometer|"
            "kilomètres par heure|kilómetros por hora|chilometri orari|公里/小时|км/ч",
        ),
        "mph": ("0.44704", "mi/h|miles per hour"),
        "kn": ("463/900", "knot|knots|kt|kts|knoten"),
        "ft/s": ("0.3048", "feet per second|fps"),
    },
    "frequency": {
        "Hz": ("1", "hertz"),
        "kHz": ("1000", "kilohertz"),
        "MHz": ("1000000", "megahertz"),
        "GHz": ("1000000000", "gigahertz"),
    },
    "power": {
        "W": ("1", "watt|watts"),
        "kW": ("1000", "kilowatt|kilowatts"),
        "MW": ("1000000", "megawatt|megawatts"),
        "GW": ("1000000000", "gigawatt|gigawatts"),
    },
    "energy": {
        "J": ("1", "joule|joules"),
        "kJ": ("1000", "kilojoule|kilojoules"),
        "kcal": ("4184", "kilocalories|calories|kilokalorien|calorías|calorie|卡路里|大卡"),
        "kWh": ("3600000", "kilowatt hours|kilowatt-hours|kilowattstunden"),
        "MWh": ("3600000000", "megawatt hours"),
    },
    "pressure": {
        "Pa": ("1", "pascal|pascals"),
        "hPa": ("100", "mbar|hectopascal|millibar|millibars"),
        "kPa": ("1000", "kilopascal"),
        "bar": ("100000", ""),
    },
    "voltage": {"mV": ("1/1000", "millivolts"), "V": ("1", "volt|volts"), "kV": ("1000", "kilovolts")},
    "current": {"mA": ("1/1000", "milliampere"), "A": ("1", "ampere|amperes|amp|amps")},
    "charge": {"mAh": ("1", "")},
    "resolution": {"px": ("1", "pixel|pixels"), "MP": ("1000000", "megapixel|megapixels")},
    "sound": {"dB": ("1", "decibel|decibels")},
}
_OFFSETS = {"°F": Fraction(-32), "K": Fraction("-273.15")}

LONE_LETTERS = words("m g l t s h d C F K W V J B A")
"""Symbols of one letter: after a blank they are read as units only if no word could be meant."""


def _units() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for dimension, symbols in _TABLE.items():
        for symbol, (factor, names) in symbols.items():
            unit = Unit(
                symbol=symbol, dimension=dimension, factor=Fraction(factor), offset=_OFFSETS.get(symbol, Fraction(0))
            )
            units[symbol] = unit
            for name in filter(None, names.split("|")):
                units.setdefault(name, unit)
    units["C"], units["F"] = units["°C"], units["°F"]
    return units


UNITS: dict[str, Unit] = _units()
"""Every symbol (as it is written) and name (in lower case) of a unit."""

_KEY_WORDS = {"c": "°C", "f": "°F", "celsius": "°C", "fahrenheit": "°F", "kmh": "km/h", "kph": "km/h", "mins": "min"}


_LOWERED = {symbol.lower(): unit for symbol, unit in reversed(UNITS.items()) if len(symbol) > 2}
"""Symbols as keys write them: `kwh` for kWh. Of two letters only as they are, or mW would be MW."""


def key_unit(word: str) -> Unit | None:
    """The unit that the last word of a JSON key names: `c` of `temp_c`, `kmh`, `minutes` of `duration_minutes`."""
    low = word.lower()
    symbol = _KEY_WORDS.get(low)
    if symbol is not None:
        return UNITS[symbol]
    if len(low) == 1:
        return UNITS.get(low) if low in {"m", "g", "l", "s", "h"} else None
    return UNITS.get(word) or UNITS.get(low) or _LOWERED.get(low)


@lru_cache(maxsize=4096)
def base(value: str, symbol: str) -> tuple[str, Fraction] | None:
    """The dimension and the value in its base unit, exactly; None for a value that can't be calculated with."""
    number = exact(value)
    return based(number, symbol) if number is not None else None


def based(number: Fraction, symbol: str) -> tuple[str, Fraction] | None:
    """As `base`, of a number that is calculated with."""
    unit = UNITS.get(symbol)
    return (unit.dimension, (number + unit.offset) * unit.factor) if unit is not None else None


def same_dimension(one: str, other: str) -> bool:
    """True where a value in one unit can be said in the other."""
    first, second = UNITS.get(one), UNITS.get(other)
    return first is not None and second is not None and first.dimension == second.dimension
