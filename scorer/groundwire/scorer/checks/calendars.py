"""Calendars: the names of months in the languages that traces are written in, and which days there are."""

from datetime import date, timedelta

from .vocabulary import words

__all__ = ["MONTHS", "WEEKDAYS", "day_value", "days_before", "is_month"]

_NAMES = (
    "january januar jänner janvier enero gennaio janeiro januari январь января styczeń stycznia",
    "february februar feber février fevrier febrero febbraio fevereiro februari февраль февраля luty lutego",
    "march märz maerz mars marzo março marco maart март марта marzec marca",
    "april avril abril aprile апрель апреля kwiecień kwietnia",
    "may mai mayo maggio maio mei май мая maj maja",
    "june juni juin junio giugno junho июнь июня czerwiec czerwca",
    "july juli juillet julio luglio julho июль июля lipiec lipca",
    "august août aout agosto augustus август августа sierpień sierpnia augusti",
    "september septembre septiembre setiembre settembre setembro сентябрь сентября wrzesień września",
    "october oktober octobre octubre ottobre outubro октябрь октября październik października",
    "november novembre noviembre novembro ноябрь ноября listopad listopada",
    "december dezember décembre decembre diciembre dicembre dezembro декабрь декабря grudzień grudnia",
)
_SHORT = (
    "jan janv ene gen янв",
    "feb févr fév feb febr fev фев",
    "mar mär mrz mrt мар",
    "apr avr abr апр",
    "mag",
    "jun giu июн",
    "jul juil lug июл",
    "aug ago авг",
    "sep sept set сен сент",
    "oct okt ott out окт",
    "nov ноя нояб",
    "dec dez déc dic дек",
)

MONTHS: dict[str, int] = {
    name: month for group in (_NAMES, _SHORT) for month, names in enumerate(group, start=1) for name in names.split()
}
"""Month names and their usual short forms, in lower case without a point, and the month's number."""

WEEKDAYS = words(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun "
    "montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag lundi mardi mercredi jeudi vendredi samedi "
    "dimanche lunes martes miércoles jueves viernes sábado domingo lunedì martedì mercoledì giovedì venerdì sabato "
    "domenica segunda terça quarta quinta sexta maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"
)
"""Names of weekdays, in lower case."""

_ALSO_WORDS = {
    "set": ("it", "pt"),
    "out": ("pt",),
    "ago": ("es", "it", "pt"),
    "gen": ("it",),
    "mag": ("it",),
    "lug": ("it",),
    "mart": ("nl",),
}


def is_month(name: str, language: str) -> bool:
    """False for a short form that is an everyday word in the text's language ("set" and "out" in English)."""
    return name not in _ALSO_WORDS or language.partition("-")[0].lower() in _ALSO_WORDS[name]


def day_value(year: str | None, month: str | None, day: str | None) -> str | None:
    """The normal form of a date, or None where there is no such day (29 February needs a leap year)."""
    if month is None:
        return year
    if not 1 <= int(month) <= 12:
        return None
    if day is None:
        return f"{year}-{int(month):02d}" if year else None
    try:
        date(int(year) if year else 2024, int(month), int(day))
    except ValueError:
        return None
    return f"{year or '-'}-{int(month):02d}-{int(day):02d}"


def days_before(value: str) -> tuple[str, ...]:
    """The normal form of the day before a date (two before a 1 March of no year); nothing of what is no day."""
    pieces = value.partition("T")[0].rsplit("-", 2)
    if len(pieces) != 3:
        return ()
    year = pieces[0]
    days: list[str] = []
    for of in (2023, 2024) if year == "-" else (int(year),):
        try:
            before = date(of, int(pieces[1]), int(pieces[2])) - timedelta(days=1)
        except (ValueError, OverflowError):
            continue
        days.append(f"{year if year == '-' else before.year}-{before.month:02d}-{before.day:02d}")
    return tuple(dict.fromkeys(days))
