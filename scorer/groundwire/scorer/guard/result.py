"""What a check came to: each signal, each rule, and the answer with what was done about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from groundwire.scorer.claims import Claim
from groundwire.scorer.guard.rules import Action, GuardRule, SignalType
from groundwire.scorer.spend import Usage

__all__ = ["Fired", "GuardResult", "SignalOutcome", "SignalResult", "conclude", "note_of"]

SignalOutcome = Literal["matched", "not_matched", "unknown"]

LONGEST_QUOTED = 160
"""Most characters of one passage in a note."""
LONGEST_REASON = 240
"""Most characters of one reason in a note."""
MOST_LISTED = 5
"""Passages that a note names; the others are counted."""
BLOCKED = "This answer was held back"


@dataclass(frozen=True, kw_only=True)
class SignalResult:
    """What one signal said of a request and its answer."""

    type: SignalType
    name: str
    outcome: SignalOutcome
    """`unknown` is never "verified"."""
    reason: str | None = None
    """Why it is unknown: `no_evidence`, `no_answer`, `timeout`, `over_budget`, `undecided`, …"""
    label: str | None = None
    """Of `fact_check`: `needs_fact_check` or `no_fact_check_needed`."""
    spans: tuple[Claim, ...] = ()
    """Of `hallucination`: the unsupported passages; offsets are in the answer as it was given."""
    seconds: float = 0.0
    """How long the answer took."""

    @property
    def holds(self) -> bool | None:
        """Whether it matched; None where nobody can tell."""
        return None if self.outcome == "unknown" else self.outcome == "matched"


@dataclass(frozen=True, kw_only=True)
class Fired:
    """A rule that came to an action."""

    number: int
    """Its place in the configuration, from 1."""
    outcome: Literal["matched", "unknown"]
    action: Action
    because: tuple[str, ...]
    """Names of the signals that decided it."""
    details: bool = False


@dataclass(frozen=True, kw_only=True)
class GuardResult:
    """The answer to give, and what was found."""

    answer: str
    """As it was given; with a note at its head (`annotate`), or a notice in its place (`block`)."""
    actions: tuple[Action, ...] = ()
    """What was done, each once, in the order of the rules."""
    warnings: tuple[str, ...] = ()
    """For each signal that a rule acted on (but for `record`): its name, or `name=unknown`."""
    signals: Mapping[str, SignalResult] = field(default_factory=dict)
    """What was asked, by the signal's name; what no rule needed is not there."""
    fired: tuple[Fired, ...] = ()
    """The rules that came to an action."""
    usage: Usage = field(default_factory=Usage)
    """What the judges used and cost."""

    @property
    def note(self) -> str:
        """What stands at the head of the answer, or in its place; empty where nothing was written."""
        return note_of(self.fired, self.signals)


def conclude(
    answer: str,
    rules: Sequence[tuple[GuardRule, bool | None, Sequence[str]]],
    signals: Mapping[str, SignalResult],
) -> GuardResult:
    """What the rules' outcomes come to; each is given with the names of the signals that decided it."""
    fired = tuple(
        Fired(
            number=number,
            outcome="unknown" if outcome is None else "matched",
            action=rule.on_unknown if outcome is None else rule.action,
            because=tuple(because),
            details=rule.details,
        )
        for number, (rule, outcome, because) in enumerate(rules, start=1)
        if outcome is not False
    )
    told = [one for one in fired if one.action != "record"]
    warnings = [
        f"{name}=unknown" if signals[name].outcome == "unknown" else name for one in told for name in one.because
    ]
    note = note_of(fired, signals)
    blocked = any(one.action == "block" for one in fired)
    return GuardResult(
        answer=note if blocked else f"{note}\n\n{answer}" if note else answer,
        actions=tuple(dict.fromkeys(one.action for one in fired)),
        warnings=tuple(dict.fromkeys(warnings)),
        signals=signals,
        fired=fired,
    )


def note_of(fired: Sequence[Fired], signals: Mapping[str, SignalResult]) -> str:
    """The note of the rules that write: of those that block alone where any does. Empty where none writes."""
    blocking = [one for one in fired if one.action == "block"]
    writing = blocking or [one for one in fired if one.action == "annotate"]
    paragraphs = dict.fromkeys(_paragraph(one, signals, blocked=bool(blocking)) for one in writing)
    return "\n\n".join(paragraphs)


def _paragraph(one: Fired, signals: Mapping[str, SignalResult], *, blocked: bool) -> str:
    because = [signals[name] for name in one.because]
    if one.outcome == "unknown":
        reasons = dict.fromkeys(found.reason or "undecided" for found in because)
        why = f" ({', '.join(reasons)})" if one.details else ""
        said = "it could not be checked against its sources"
        return f"{BLOCKED}: {said}{why}." if blocked else f"Note on this answer: {said}{why}."
    spans = [span for found in because for span in found.spans]
    if not spans:  # what the rule asks is no matter of passages
        named = ", ".join(one.because)
        return f"{BLOCKED} ({named})." if blocked else f"Note on this answer: {named}."
    n = len(spans)
    what = f"{n} passage{'' if n == 1 else 's'} of it {'is' if n == 1 else 'are'} not supported by its sources"
    head = f"{BLOCKED}: {what}" if blocked else f"Note on this answer: {what}"
    if not one.details:
        return f"{head}."
    lines = [_line(span) for span in spans[:MOST_LISTED]]
    if n > MOST_LISTED:
        lines.append(f"- and {n - MOST_LISTED} more")
    return "\n".join([f"{head}:", *lines])


def _line(span: Claim) -> str:
    reason = _short(span.reason, LONGEST_REASON)
    kind = (span.type or "").replace("_", " ")
    why = ": ".join(part for part in (kind, reason) if part)
    return f"- “{_short(span.text, LONGEST_QUOTED)}”{f' ({why})' if why else ''}"


def _short(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
