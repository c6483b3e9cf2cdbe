"""The guard: what is done about an answer that its grounding context doesn't support, by configured rules."""

from groundwire.scorer.guard.guard import Check, Evidence, Guard, Recorder
from groundwire.scorer.guard.recipes import read_guard
from groundwire.scorer.guard.result import Fired, GuardResult, SignalResult
from groundwire.scorer.guard.rules import FactCheckSignal, GuardRule, GuardRules, HallucinationSignal, Signals
from groundwire.scorer.guard.stream import GuardedStream

__all__ = [
    "Check",
    "Evidence",
    "FactCheckSignal",
    "Fired",
    "Guard",
    "GuardResult",
    "GuardRule",
    "GuardRules",
    "GuardedStream",
    "HallucinationSignal",
    "Recorder",
    "SignalResult",
    "Signals",
    "read_guard",
]
