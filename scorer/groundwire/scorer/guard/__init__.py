"""The guard: what is done about an answer that its grounding context doesn't support, by configured rules."""

from groundwire.scorer.guard.asking import Evidence
from groundwire.scorer.guard.guard import Guard, GuardCheck, Recorder
from groundwire.scorer.guard.recipes import read_guard, require_tree
from groundwire.scorer.guard.result import Fired, GuardResult, SignalResult
from groundwire.scorer.guard.rules import FactCheckSignal, GuardRule, GuardRules, HallucinationSignal, Signals
from groundwire.scorer.guard.stream import GuardedStream

__all__ = [
    "Evidence",
    "FactCheckSignal",
    "Fired",
    "Guard",
    "GuardCheck",
    "GuardResult",
    "GuardRule",
    "GuardRules",
    "GuardedStream",
    "HallucinationSignal",
    "Recorder",
    "SignalResult",
    "Signals",
    "read_guard",
    "require_tree",
]
