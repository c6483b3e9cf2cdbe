"""Deeds that an answer claims ("I have refunded…", "has been cancelled") against the tools that ran."""

import re
from dataclasses import dataclass
from typing import Literal

from groundwire.scorer.evidence import Shown, View
from groundwire.scorer.judges.leaves import failed

__all__ = ["Deed", "deed"]

_FAMILIES: dict[str, tuple[str, str]] = {
    "cancel": (r"cancel|stornier|abgesagt|annul|取消", r"cancel|void|abort|terminate|annul|storn"),
    "refund": (
        r"refund|reimburs|erstattet|reembols|rembours|退款",
        r"refund|reimburse|return|credit|cancel|chargeback|compensat|certificate|payment|update|modify|exchange|change",
    ),
    "book": (
        r"book(?:ed|ing)|reserved|gebucht|reserviert|reservad|réservé|预订|预定",
        r"book|reserv|schedul|order|purchase|appointment|create",
    ),
    "order": (
        r"ordered|placed|purchased|bought|bestellt|comprad|pedid|command|下单|购买",
        r"order|purchase|buy|checkout|book|place|create",
    ),
    "return": (r"returned|zurückgegeben|devuelt|retourn|退货", r"return|exchange|refund"),
    "exchange": (r"exchanged|swapped|umgetauscht|cambiad|échang|换货", r"exchange|swap|modify|update|replace"),
    "change": (
        r"updated|changed|modified|edited|upgraded|downgraded|moved|rescheduled|renamed|adjusted|geändert|"
        r"aktualisiert|umgebucht|verschoben|actualizad|"
        r"modificad|modifi|mis à jour|更新|修改|更改|改签|升级",
        r"update|change|modif|edit|set|upgrade|downgrade|resched|move|patch|put|rename|adjust",
    ),
    "add": (
        r"added|included|registered|hinzugefügt|añadid|agregad|ajout|添加",
        r"add|update|insert|create|set|register|append|modify|book",
    ),
    "remove": (
        r"removed|deleted|erased|gelöscht|entfernt|eliminad|borrad|supprim|删除",
        r"remove|delete|drop|clear|erase|update|purge",
    ),
    "send": (
        r"sent|emailed|e-mailed|mailed|notified|forwarded|gesendet|geschickt|verschickt|enviad|envoy|发送|寄出",
        r"send|mail|notif|message|sms|post|forward|issue|share",
    ),
    "create": (
        r"created|opened|generated|erstellt|angelegt|cread|créé|创建|开具",
        r"create|open|generat|new|issue|add|send|file|insert|make",
    ),
    "transfer": (
        r"transferred|überwiesen|übertragen|transferid|transféré|转账|转接",
        r"transfer|wire|pay|handoff|escalat|move",
    ),
    "pay": (
        r"paid|charged|billed|bezahlt|belastet|cobrad|pagad|payé|débité|支付|扣款",
        r"pay|charge|bill|book|order|update|purchase|checkout|modify|exchange",
    ),
    "complete": (
        r"completed|processed|finali[sz]ed|confirmed|submitted|applied|initiated|requested|issued|abgeschlossen|"
        r"bestätigt|bearbeitet|completad|procesad|confirmad|"
        r"confirmé|traité|effectué|完成|处理|确认",
        "",
    ),
    "save": (
        r"saved|stored|recorded|logged|gespeichert|guardad|enregistr|保存",
        r"save|store|write|record|log|create|update|put|insert",
    ),
}
"""Family: the words by which an answer claims the deed, and the words in the name of a tool that can do it."""

_FIRST_PERSON = (
    r"\b(?:i|we)(?:['’]ve| have| just| did| had|['’]ve just| have just)?(?: (?:now|just|already|also|"
    r"successfully|gone ahead and))*\s+(?P<verb>{verbs})\w*\b"
    r"|\b(?:ich|wir) habe?n?\b.{{0,80}}?(?P<verb_de>{verbs})\w*|\b(?:he|hemos) (?P<verb_es>{verbs})\w*|"
    r"\b(?:j['’]ai|nous avons) (?P<verb_fr>{verbs})\w*"
    r"|我(?:们)?(?:已经|已)?(?:为您|帮您)?(?P<verb_zh>{verbs})"
)
_PERFECT = (
    r"\b(?:has|have|was|were|is|are)\b(?: (?:now|just|already|also|been|being))*(?: \w+ly)?(?: (?:now|"
    r"been))*\s+(?P<verb>{verbs})\w*\b"
    r"|\b(?:wurden?|ist|sind)\b.{{0,80}}?(?P<verb_de>{verbs})\w*|\b(?:ha|han|se ha|fue|fueron) "
    r"(?:sido )?(?:\w+mente )?(?P<verb_es>{verbs})\w*"
    r"|\b(?:a|ont) (?:bien )?été (?:\w+ment )?(?P<verb_fr>{verbs})\w*"
    r"|(?:已经|已|成功)(?:成功|为您|被)?(?P<verb_zh>{verbs})"
)
_SUCCESS = re.compile(
    r"(?i)\bsuccessful(?:ly)?\b|\berfolgreich\b|\bcon éxito\b|\bcorrectamente\b|\bavec succès\b|成功|\bconfirmed\b"
)
_FUTURE = re.compile(
    r"(?i)\b(?:will|would|can|could|should|must|may|might|shall|to|cannot|can't|if|once|when|until|before|unless|"
    r"wird|werden|será|puede|sera|peut) (?:not )?(?:be|have been|been|ser|être)\b|将|会被"
)
_NOT = re.compile(r"(?i)\b(?:not|never|no|nicht|kein\w*|nunca|jamais)\b|n['’]t\b|未|没有")
_READS = re.compile(
    r"(?i)^(?:get|search|list|find|look|lookup|fetch|query|read|check|calc|calculate|think|retrieve|show|view|"
    r"describe|browse|web|knowledge|wiki|weather|"
    r"time|respond|plan|count|compare|verify|validate|status|history|details?)(?=[_\W]|[A-Z]|$)"
)
_COMPILED = {
    family: (
        re.compile(_FIRST_PERSON.format(verbs=said), re.IGNORECASE),
        re.compile(_PERFECT.format(verbs=said), re.IGNORECASE),
        re.compile(rf"(?:^|[^a-z])(?:{done})", re.IGNORECASE),
    )
    for family, (said, done) in _FAMILIES.items()
}


@dataclass(frozen=True, kw_only=True)
class Deed:
    """A claimed deed and what the tools say about it."""

    outcome: Literal["done", "failed", "absent", "open"]
    """`open`: some tool that changes things succeeded, but none whose name says that it does this."""
    family: str
    shown: Shown | None = None
    """The tool run that did it, or that failed to."""


def deed(claim: str, view: View) -> Deed | None:
    """What the tools say about a deed that the claim reports as done; None where it reports none.

    A deed in the passive counts only where the view holds tool runs: "the bridge has been closed" in a passage is
    somebody else's.
    """
    tools = [shown for shown in view.shown if shown.block.kind == "tool"]
    reported = _reported(claim, bool(tools))
    if reported is None:
        return None
    family, own = reported
    able = [shown for shown in tools if _is_able(shown.block.tool_name or "", family)]
    done = [shown for shown in able if not failed(shown)]
    if done:
        return Deed(outcome="done", family=family, shown=done[-1])
    if able:
        return Deed(outcome="failed", family=family, shown=able[-1])
    writes = [shown for shown in tools if not _READS.match(_snake(shown.block.tool_name or "")) and not failed(shown)]
    if writes:
        return Deed(outcome="open", family=family, shown=writes[-1])
    if own or _SUCCESS.search(claim):
        broken = next((shown for shown in reversed(tools) if failed(shown)), None)
        return Deed(outcome="failed" if broken else "absent", family=family, shown=broken)
    return None


def _is_able(tool: str, family: str) -> bool:
    """Whether a tool's name says that it does such deeds; what only reads never does, any other
    completes something."""
    name = _snake(tool)
    return not _READS.match(name) and (family == "complete" or _COMPILED[family][2].search(name) is not None)


def _reported(claim: str, with_tools: bool) -> tuple[str, bool] | None:
    """The family of the first deed that is reported as done, and whether the speaker claims it as their own."""
    best: tuple[int, str, bool] | None = None
    for family, (first_person, perfect, _) in _COMPILED.items():
        for pattern, own in ((first_person, True), (perfect, False)):
            if not own and not with_tools:
                continue
            found = pattern.search(claim)
            if found and not _undone(claim, found) and (best is None or found.start() < best[0]):
                best = (found.start(), family, own)
    return None if best is None else (best[1], best[2])


def _undone(claim: str, found: re.Match[str]) -> bool:
    before = claim[max(0, found.start() - 25) : found.end()]
    return bool(_FUTURE.search(before) or _NOT.search(before))


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").replace(".", "_")
