"""The citation verifier: does each claim's source exist, is its quote there, does the quote support it?"""

from groundwire.scorer.verification.draft import Draft, read_draft, read_sources
from groundwire.scorer.verification.passages import CitedClaim, CitedPassage
from groundwire.scorer.verification.verification import (
    CheckedPassage,
    Retry,
    Verification,
    VerifiedClaim,
    WayOut,
    resolve,
    verify,
)

__all__ = [
    "CheckedPassage",
    "CitedClaim",
    "CitedPassage",
    "Draft",
    "Retry",
    "Verification",
    "VerifiedClaim",
    "WayOut",
    "read_draft",
    "read_sources",
    "resolve",
    "verify",
]
