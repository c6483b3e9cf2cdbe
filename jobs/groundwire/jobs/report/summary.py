"""What the head of the report says: counts and score distributions, for each group of rows that may be compared."""

from collections import Counter
from dataclasses import dataclass, field

from groundwire.jobs.report.entry import EntryView
from groundwire.scorer import Direction

__all__ = ["BINS", "Bar", "Group", "Summary"]

BINS = 11
"""Bars of a distribution: ten of a tenth each, and one for exactly 1, which would else vanish among the nines."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One bar of a distribution."""

    count: int
    height: float
    """Share of the highest bar, in [0, 1]."""
    words: str


@dataclass(kw_only=True)
class Group:
    """Rows of one metric version, partition type and configuration: the only ones whose scores compare."""

    metric: str
    version: str
    partition_type: str
    fingerprint: str
    direction: Direction
    judge: str = ""
    """Empty where no row of the group reached a judge."""
    rows: int = 0
    scored: int = 0
    total: float = 0.0
    """Sum of the scores."""
    bins: list[int] = field(default_factory=lambda: [0] * BINS)
    statuses: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Rows by status and reason; the reason is empty for what was scored."""
    claims: Counter[str] = field(default_factory=Counter)
    """Claims by state."""

    @property
    def mean(self) -> float | None:
        """Mean of the scores; None where nothing was scored, which is not zero."""
        return self.total / self.scored if self.scored else None

    @property
    def bars(self) -> tuple[Bar, ...]:
        """The distribution of the scores."""
        most = max(self.bins)
        words = [f"from {index / 10:.1f} to under {(index + 1) / 10:.1f}" for index in range(BINS - 1)] + ["exactly 1"]
        return tuple(
            Bar(count=count, height=count / most if most else 0.0, words=word)
            for count, word in zip(self.bins, words, strict=True)
        )

    def add(self, view: EntryView) -> None:
        """Count one entry in."""
        row = view.row
        self.rows += 1
        self.judge = self.judge or view.judge
        self.statuses[row.status, row.reason or ""] += 1
        self.claims.update(claim.state for claim in view.claims)
        if row.status == "scored" and row.score is not None:
            self.scored += 1
            self.total += row.score
            self.bins[int(row.score * 10 + 1e-9)] += 1  # a mean may fall a hair short of its bin


@dataclass(kw_only=True)
class Summary:
    """The counts of a whole report, gathered while its entries are written."""

    groups: dict[tuple[str, str, str, str], Group] = field(default_factory=dict)
    filters: Counter[str] = field(default_factory=Counter)
    """Entries by filter word: the statuses, and `hallucinated` and `undecided` for entries with such claims."""
    rows: int = 0
    micro_dollars: int = 0
    lexical: bool = False
    """Whether the offline judge decided anything here."""
    versions: set[str] = field(default_factory=set)
    """The groundwire versions that made the rows."""

    def add(self, view: EntryView) -> None:
        """Count one entry in."""
        row = view.row
        key = (row.metric, row.metric_version, row.partition_type, row.config_fingerprint)
        if key not in self.groups:
            self.groups[key] = Group(
                metric=row.metric,
                version=row.metric_version,
                partition_type=row.partition_type,
                fingerprint=row.config_fingerprint,
                direction=row.direction,
            )
        self.groups[key].add(view)
        self.filters.update(view.filters.split())
        self.rows += 1
        self.micro_dollars += row.usage.micro_dollars
        self.lexical = self.lexical or view.lexical
        self.versions.add(row.groundwire_version)
