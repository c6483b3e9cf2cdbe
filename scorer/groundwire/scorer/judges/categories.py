"""Names, statuses and yes-or-no values that an answer states, against the members of JSON evidence."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from groundwire.scorer.judges.leaves import Leaf
from groundwire.scorer.judges.windows import content_words, words

__all__ = ["Category", "category"]

_STATES: dict[str, str] = {
    word: state
    for state, listed in {
        "pending": "pending|waiting|queued|awaiting|ausstehend|wartend|pendiente|en attente|待处理|等待",
        "processing": "processing|in progress|being processed|in bearbeitung|en proceso|en cours|处理中",
        "shipped": "shipped|dispatched|in transit|versandt|verschickt|unterwegs|enviado|enviada|"
        "en tránsito|en camino|expédié|expédiée|en transit|已发货|运输中",
        "delivered": "delivered|zugestellt|geliefert|ausgeliefert|entregado|entregada|livré|livrée|"
        "已送达|已交付|已签收",
        "cancelled": "cancelled|canceled|storniert|annulliert|gestrichen|cancelado|cancelada|anulado|"
        "annulé|annulée|已取消|取消",
        "returned": "returned|zurückgesendet|devuelto|retourné|已退货",
        "refunded": "refunded|erstattet|reembolsado|remboursé|已退款",
        "delayed": "delayed|late|verspätet|retrasado|retrasada|demorado|retardé|en retard|延误|晚点",
        "on time": "on time|on-time|punctual|pünktlich|planmäßig|a tiempo|puntual|à l'heure|准点|准时|正点",
        "open": "open|offen|geöffnet|abierto|abierta|ouvert|ouverte|营业|开放",
        "closed": "closed|geschlossen|cerrado|cerrada|fermé|fermée|关闭|停业",
        "active": "active|aktiv|activo|activa|actif|有效|激活",
        "inactive": "inactive|deactivated|disabled|inaktiv|inactivo|inactif|停用",
        "expired": "expired|abgelaufen|caducado|vencido|expiré|过期",
        "suspended": "suspended|blocked|locked|gesperrt|suspendido|bloqueado|suspendu|bloqué|冻结|封禁",
        "approved": "approved|accepted|genehmigt|aprobado|aprobada|approuvé|批准|通过",
        "rejected": "rejected|declined|denied|abgelehnt|rechazado|denegado|refusé|rejeté|拒绝",
        "paid": "paid|settled|bezahlt|pagado|pagada|payé|payée|已支付|已付款",
        "unpaid": "unpaid|outstanding|overdue|unbezahlt|überfällig|impagado|impayé|未支付|未付款|逾期",
        "available": "available|in stock|verfügbar|auf lager|disponible|en stock|有货|可用",
        "unavailable": "unavailable|out of stock|sold out|nicht verfügbar|ausverkauft|no disponible|"
        "agotado|indisponible|épuisé|缺货|售罄|无货",
        "resolved": "resolved|solved|fixed|gelöst|behoben|resuelto|résolu|已解决",
        "failed": "failed|fehlgeschlagen|gescheitert|fallido|échoué|失败",
        "succeeded": "succeeded|passed|successful|completed|complete|done|finished|abgeschlossen|"
        "erledigt|completado|terminé|完成|成功",
    }.items()
    for word in listed.split("|")
}
_WORDS_BY_LENGTH = sorted(_STATES, key=len, reverse=True)
_STATE = re.compile(
    "|".join(
        rf"(?<!\w){re.escape(word)}(?!\w)"
        if word.isascii() or (word[0].isalpha() and word[0] < "\u2e80")
        else re.escape(word)
        for word in _WORDS_BY_LENGTH
    ),
    re.IGNORECASE,
)
_STATE_KEYS = frozenset(
    word
    for key in ("status", "state", "condition", "availability", "stage", "phase", "result", "outcome")
    for word in words(key)
)
_BEING = re.compile(
    r"(?i)(?:(?:\b(?:is|are|was|were|be|been|status|state|now|currently|already|has|have|ist|sind|wurden?|está|"
    r"están|fue|ha sido|est|sont|a été)\b|"
    r"['’]s\b|[:：])\W*(?:\b(?:been|being|now|currently|still|already|just|successfully|derzeit|bereits|noch|"
    r"actualmente)\b\W*){0,2}|[是为已经])$"
)
"""What stands right before a state that is asserted of something ("is delayed"), and not before "delayed flights"."""
_COMING = re.compile(
    r"(?i)(?:\b(?:will|to|can|could|may|should|if|once|when|until|not|never|wird|werden|será|sera|nicht|no|ne|"
    r"n't)\b\W+(?:\w+\W+){0,2}|将|会|未)$"
)
_YES = frozenset({"true", "yes", "y", "enabled", "included", "on"})
_COPULA = (
    r"\W*(?:\b(?:is|was|are|were|will be|remains|ist|war|sind|lautet|beträgt|heißt|es|son|era|está|est|"
    r"sont|était)\b|[:：=]|是|为)\W*"
)
_SKIPPED_KEYS = re.compile(
    r"(?i)(?:^|_)(?:id|ids|uuid|url|uri|link|description|text|body|content|message|comment|notes?|summary|title)$"
)


@dataclass(frozen=True, kw_only=True)
class Category:
    """What the evidence says about a name, status or yes-or-no value of a claim."""

    agrees: bool
    leaf: Leaf
    said: str
    """The claim's own words for it."""


def category(claim: str, leaves: Sequence[Leaf], *, with_states: bool = True) -> Category | None:
    """The first disagreement of the claim with the evidence, else the first agreement, else None.

    Only the records that the claim names by a code are compared, where it names any that the evidence has. Without
    `with_states`, statuses are left out: a deed that the answer reports changes them.
    """
    relevant = _of_named_records(claim, leaves)
    found = [
        *_free(claim, relevant),
        *_booleans(claim, relevant),
        *(_statuses(claim, relevant) if with_states else ()),
        *_labelled(claim, relevant),
    ]
    return next((one for one in found if not one.agrees), found[0] if found else None)


def _of_named_records(claim: str, leaves: Sequence[Leaf]) -> Sequence[Leaf]:
    tokens = {token.casefold().strip("#") for token in re.findall(r"[\w#-]*\d[\w-]*", claim)}
    named = [leaf for leaf in leaves if tokens & {code.strip("#") for code in leaf.codes}]
    return named or leaves


def _free(claim: str, leaves: Sequence[Leaf]) -> Iterable[Category]:
    """ "Shipping is free" beside a member `shipping` that is a number."""
    if not _FREE.search(claim) or len(claim.split()) > _LONGEST_CLAUSE:
        return
    mine = frozenset(words(claim))
    for leaf in leaves:
        if not leaf.is_string and leaf.key_words and frozenset(leaf.key_words) <= mine and _AMOUNT.fullmatch(leaf.text):
            yield Category(agrees=float(leaf.text) == 0, leaf=leaf, said=claim)


_FREE = re.compile(
    r"(?i)\b(?:is|are|ist|sind|es|est|:)\s+(?:free(?: of charge)?|kostenlos|gratis|gratuite?s?)\b|[:：]\W*free\b|免费"
)
_AMOUNT = re.compile(r"-?\d{1,15}(?:\.\d{1,10})?")


def _booleans(claim: str, leaves: Sequence[Leaf]) -> Iterable[Category]:
    mine = frozenset(words(claim))
    by_key: dict[tuple[str, ...], list[Leaf]] = {}
    for leaf in leaves:
        by_key.setdefault(tuple(word for word in leaf.key_words if word not in _AUXILIARY), []).append(leaf)
    for key, group in by_key.items():
        if any(leaf.text.casefold() not in {"true", "false", "yes", "no"} for leaf in group):
            continue
        truths = {leaf.text.casefold() in _YES for leaf in group}
        if not key or len(truths) > 1 or not frozenset(key) <= mine:
            continue
        clause = _around(claim, key)
        truth = _said_of(clause, key)
        if truth is not None:
            yield Category(agrees=truths == {truth}, leaf=group[0], said=clause)


_AUXILIARY = frozenset({"is", "ha", "has", "can", "are", "wa", "was"})
_DENIED_BEFORE = (
    r"(?:\b(?:no|not|non|without|never|isn['’]?t|aren['’]?t|hasn['’]?t|lacks?|nicht|keine?|ohne|sin|"
    r"sans)\b|n['’]t\b)[\s-]*(?:\w+\s+){0,2}"
)
_DENIED_AFTER = (
    r"\W*(?:\b(?:is|was|has|were|are|been|be)\b\W*){0,3}(?:\b(?:no|not|none|never|false|nein|nicht|excluded|"
    r"declined|unavailable|disabled)\b|"
    r"\b(?:isn|wasn|hasn)['’]?t\b|否|无)"
)
_AFFIRMED_BEFORE = r"\b(?:is|are|has|have|includes?|including|with|ist|hat|es|tiene|est|a)\s+(?:\w+\s+){0,2}"
_AFFIRMED_AFTER = (
    r"\W*(?:\b(?:is|was|has|been)\b\W*){0,2}\b(?:included|yes|true|available|enabled|active|"
    r"purchased|added|ja|sí|oui)\b"
)


def _said_of(clause: str, key: Sequence[str]) -> bool | None:
    """Whether a clause affirms or denies a member, by the words right beside its name; None where it does neither."""
    if len(clause.split()) > _LONGEST_CLAUSE:
        return None
    name = r"[\s_-]*".join(rf"{re.escape(word)}\w{{0,4}}" for word in key)
    if re.search(rf"(?i){_DENIED_BEFORE}\b{name}|\bnon-?{name}|\b{name}{_DENIED_AFTER}", clause):
        return False
    if re.search(rf"(?i){_AFFIRMED_BEFORE}{name}|\b{name}{_AFFIRMED_AFTER}", clause):
        return True
    return None


_LONGEST_CLAUSE = 14
"""Words; in a longer clause a yes or no may belong to something else."""


def _around(claim: str, key: Sequence[str]) -> str:
    """The part of the claim, between commas and conjunctions, that speaks of the key."""
    parts = re.split(r"[,;，；]|\b(?:and|but|as|because|since|und|aber|y|pero|et|mais)\b", claim)
    return next((part for part in parts if frozenset(key) <= frozenset(words(part))), claim).strip()


def _statuses(claim: str, leaves: Sequence[Leaf]) -> Iterable[Category]:
    stated = [
        found
        for found in _STATE.finditer(claim)
        if not _COMING.search(claim[: found.start()])
        and (_BEING.search(claim[: found.start()]) or found.group(0)[0] in "已准延取")
    ]
    values = [leaf for leaf in leaves if leaf.key_words and leaf.key_words[-1] in _STATE_KEYS and _state(leaf.text)]
    if not stated or not values:
        return
    mine = {_STATES[found.group(0).casefold()]: found.group(0) for found in stated}
    theirs = {_state(leaf.text): leaf for leaf in values}
    shared = next((state for state in mine if state in theirs), None)
    if shared is not None:
        yield Category(agrees=True, leaf=theirs[shared], said=mine[shared])
    elif len(theirs) == 1 and _comparable(mine, theirs):
        yield Category(agrees=False, leaf=values[0], said=next(iter(mine.values())))


_SCALES = (
    {"pending", "processing", "shipped", "delivered", "cancelled", "returned", "refunded"},
    {"delayed", "on time", "cancelled"},
    {"open", "closed", "resolved", "pending"},
    {"active", "inactive", "expired", "suspended", "cancelled"},
    {"approved", "rejected", "pending"},
    {"paid", "unpaid", "refunded"},
    {"available", "unavailable"},
    {"failed", "succeeded", "pending", "processing"},
)


def _comparable(mine: Iterable[str], theirs: Iterable[str | None]) -> bool:
    """Whether the two lie on one scale, so that one excludes the other."""
    return any(any(state in scale for state in mine) and any(state in scale for state in theirs) for scale in _SCALES)


def _state(value: str) -> str | None:
    return _STATES.get(value.strip().casefold().replace("_", " "))


def _labelled(claim: str, leaves: Sequence[Leaf]) -> Iterable[Category]:
    """`Carrier: DHL` or "the carrier is DHL" beside a member `carrier`."""
    by_key: dict[tuple[str, ...], list[Leaf]] = {}
    for leaf in leaves:
        if leaf.is_string and leaf.key and not _SKIPPED_KEYS.search(leaf.key) and 0 < len(leaf.text.split()) <= 4:
            by_key.setdefault(leaf.key_words, []).append(leaf)
    for key, group in by_key.items():
        pattern = r"[\s_*-]*".join(rf"\b{re.escape(word)}\w{{0,3}}" for word in key)
        found = re.search(rf"(?i){pattern}(?:[ ]\w+)?[*_]*{_COPULA}(?P<value>[^,;.!?，；。(（]+)", claim)
        if found is None:
            continue
        said = found.group("value").strip(" *_\"'“”")
        mine = frozenset(content_words(said))
        if not mine or any(character.isdigit() for character in said):
            continue
        theirs = [(frozenset(content_words(leaf.text.replace("_", " "))), leaf) for leaf in reversed(group)]
        same = next((leaf for value, leaf in theirs if value == mine), None) or next(
            (leaf for value, leaf in theirs if value <= mine), None
        )
        if same is not None:
            yield Category(agrees=True, leaf=same, said=said)
        elif not any(mine & frozenset(words(leaf.text)) for leaf in leaves) and said[:1].isupper():
            yield Category(agrees=False, leaf=group[0], said=said)
