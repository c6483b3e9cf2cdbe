"""What is true: a partition goes in, a row comes out. No platform, no database, no web."""

from groundwire.scorer.cache import Cache, MemoryCache
from groundwire.scorer.checks.pointing import place_quote
from groundwire.scorer.claims import Check, Citation, Claim, DraftClaim, Quote, find_quote, locate
from groundwire.scorer.comment import headline, write_comment
from groundwire.scorer.errors import ConfigError, GiveUp, GroundwireError, RetryLater, SkipThis
from groundwire.scorer.evidence import Block, Coverage, Limits, Shown, View, content_hash, fit
from groundwire.scorer.judge import (
    Capability,
    Dimensions,
    Exchange,
    Failure,
    Faithfulness,
    Judge,
    JudgeVersion,
    Reply,
    UnsupportedSpan,
    Verdict,
)
from groundwire.scorer.judges.config import (
    DecisionJudgeConfig,
    JudgeConfig,
    LLMJudgeConfig,
    OfflineJudgeConfig,
    read_judge_config,
)
from groundwire.scorer.judges.estimates import Estimate
from groundwire.scorer.judges.llm import LLMJudge
from groundwire.scorer.judges.offline import OfflineJudge
from groundwire.scorer.judges.registry import build_judge, require_price
from groundwire.scorer.manifest import Manifest, manifest_names
from groundwire.scorer.metrics import load_metric_manifest
from groundwire.scorer.metrics.config import (
    EvidencePolicy,
    Given,
    HallucinationConfig,
    HallucinationSettings,
)
from groundwire.scorer.metrics.hallucination import HallucinationMetric, Material, get_trace_metric
from groundwire.scorer.naming import KindRule, RootRule, SpanRule, rekind
from groundwire.scorer.partition import (
    BlobPart,
    Message,
    Part,
    Partition,
    PartitionType,
    ReasoningPart,
    Role,
    Span,
    SpanKind,
    SpanStatus,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    Turn,
    UriPart,
)
from groundwire.scorer.row import Direction, Row, Status, package_version
from groundwire.scorer.spend import MICRO, Account, Ledger, MemoryLedger, Reservation, Usage, micro_dollars

__all__ = [
    "MICRO",
    "Account",
    "BlobPart",
    "Block",
    "Cache",
    "Capability",
    "Check",
    "Citation",
    "Claim",
    "ConfigError",
    "Coverage",
    "DecisionJudgeConfig",
    "Dimensions",
    "Direction",
    "DraftClaim",
    "Estimate",
    "EvidencePolicy",
    "Exchange",
    "Failure",
    "Faithfulness",
    "GiveUp",
    "Given",
    "GroundwireError",
    "HallucinationConfig",
    "HallucinationMetric",
    "HallucinationSettings",
    "Judge",
    "JudgeConfig",
    "JudgeVersion",
    "KindRule",
    "LLMJudge",
    "LLMJudgeConfig",
    "Ledger",
    "Limits",
    "Manifest",
    "Material",
    "MemoryCache",
    "MemoryLedger",
    "Message",
    "OfflineJudge",
    "OfflineJudgeConfig",
    "Part",
    "Partition",
    "PartitionType",
    "Quote",
    "ReasoningPart",
    "Reply",
    "Reservation",
    "RetryLater",
    "Role",
    "RootRule",
    "Row",
    "Shown",
    "SkipThis",
    "Span",
    "SpanKind",
    "SpanRule",
    "SpanStatus",
    "Status",
    "TextPart",
    "ToolCallPart",
    "ToolCallResponsePart",
    "Turn",
    "UnsupportedSpan",
    "UriPart",
    "Usage",
    "Verdict",
    "View",
    "build_judge",
    "content_hash",
    "find_quote",
    "fit",
    "get_trace_metric",
    "headline",
    "load_metric_manifest",
    "locate",
    "manifest_names",
    "micro_dollars",
    "package_version",
    "place_quote",
    "read_judge_config",
    "rekind",
    "require_price",
    "write_comment",
]
