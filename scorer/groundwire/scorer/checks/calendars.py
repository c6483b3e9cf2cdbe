"""Calendars: the names of months, in the languages that traces are written in."""

from .vocabulary import words

__all__ = ["MONTHS", "WEEKDAYS", "is_month"]

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
