"""Charts for the page of rates: where points, bands, bars and lines stand in a box of a fixed size."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from groundwire.jobs.report.rates import Break, Group, RatesReport, Traces

__all__ = ["HEIGHT", "WIDTH", "Chart", "Mark", "Point", "Tick", "latency_chart", "rate_chart"]

WIDTH = 640.0
HEIGHT = 180.0
"""The plot's inner size, in the units of its view box."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One value in the plot."""

    x: float
    y: float
    low: float
    """Where the interval's low end stands."""
    high: float
    words: str


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A labelled place on an axis."""

    at: float
    words: str


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A vertical line or stripe: a break, or a day that was cut."""

    x: float
    width: float
    words: str


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A plot ready to be drawn."""

    points: tuple[Point, ...]
    second: tuple[Point, ...] = ()
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    breaks: tuple[Mark, ...] = ()
    cuts: tuple[Mark, ...] = ()
    words: str

    @property
    def line(self) -> str:
        """The points as an SVG polyline; days without a value leave no gap, their neighbours are joined."""
        return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in self.points)

    @property
    def second_line(self) -> str:
        """As `line`, of the second series."""
        return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in self.second)


def rate_chart(report: RatesReport, group: Group) -> Chart | None:
    """The group's rate day by day with its intervals, breaks and cut days; None without a verdict."""
    told = [(date.fromisoformat(rate.value), rate.hallucinated) for rate in group.days]
    days = [(day, found) for day, found in told if found is not None]
    if not days:
        return None
    axis = _Axis(report)
    top = _nice(max(found.interval.high for _, found in days))
    points = tuple(
        Point(
            x=axis.x(day),
            y=_y(found.value, top),
            low=_y(found.interval.low, top),
            high=_y(found.interval.high, top),
            words=f"{day}: {100 * found.value:.1f} % ({100 * found.interval.low:.1f} to "
            f"{100 * found.interval.high:.1f} %) of {found.n:,} rows",
        )
        for day, found in days
    )
    own = [one for one in report.breaks if _of(one, group)]
    return Chart(
        points=points,
        x_ticks=axis.ticks(),
        y_ticks=tuple(Tick(at=_y(top * i / 4, top), words=f"{100 * top * i / 4:.3g} %") for i in range(5)),
        breaks=tuple(Mark(x=axis.x(one.at.date()), width=0, words=f"{one.at.date()}: {one.what}") for one in own),
        cuts=tuple(
            Mark(x=axis.x(day) - axis.step / 2, width=axis.step, words=f"{day}: not wholly covered")
            for day in sorted(report.days_cut(group.evaluator))
            if axis.first <= day <= axis.last
        ),
        words=f"Share of rows with a hallucinated claim, by day, {len(days)} days",
    )


def latency_chart(report: RatesReport) -> Chart | None:
    """p50 and p95 of the traces' latency day by day; None where no trace tells it."""
    days = [(date.fromisoformat(one.value), one) for one in report.trace_days if one.p95 is not None]
    if not days:
        return None
    axis = _Axis(report)
    top = _nice(max(one.p95 or 0.0 for _, one in days))

    def series(values: Mapping[date, float], name: str) -> tuple[Point, ...]:
        return tuple(
            Point(
                x=axis.x(day),
                y=_y(value, top),
                low=_y(value, top),
                high=_y(value, top),
                words=f"{day}: {name} {value:.2f} s",
            )
            for day, value in values.items()
        )

    return Chart(
        points=series(_values(days, "p50"), "p50"),
        second=series(_values(days, "p95"), "p95"),
        x_ticks=axis.ticks(),
        y_ticks=tuple(Tick(at=_y(top * i / 4, top), words=f"{top * i / 4:.3g} s") for i in range(5)),
        words=f"Median and 95th percentile of the traces' latency, by day, {len(days)} days",
    )


def _values(days: Sequence[tuple[date, Traces]], name: str) -> dict[date, float]:
    return {day: float(getattr(one, name)) for day, one in days}


def _of(one: Break, group: Group) -> bool:
    return (one.evaluator, one.partition_type) == (group.evaluator, group.partition_type)


def _y(value: float, top: float) -> float:
    return HEIGHT * (1 - value / top)


def _nice(greatest: float) -> float:
    """A round number at or above: the end of an axis."""
    if greatest <= 0:
        return 1.0
    unit = 1.0
    while unit > greatest:
        unit /= 10
    while unit * 10 < greatest:
        unit *= 10
    return next(unit * step for step in (1, 2, 4, 5, 8, 10) if unit * step >= greatest * (1 - 1e-9))


class _Axis:
    """The days of a report along the plot."""

    def __init__(self, report: RatesReport) -> None:
        days = [date.fromisoformat(one.value) for one in report.trace_days]
        self.first = min(days, default=report.since.date())
        self.last = max(days, default=report.until.date())
        self._days = (self.last - self.first).days + 1
        self.step = WIDTH / self._days

    def x(self, day: date) -> float:
        """The middle of a day."""
        return self.step * ((day - self.first).days + 0.5)

    def ticks(self) -> tuple[Tick, ...]:
        """At most eight days."""
        every = max(1, -(-self._days // 8))
        days = [date.fromordinal(self.first.toordinal() + i) for i in range(0, self._days, every)]
        return tuple(Tick(at=self.x(day), words=f"{day:%d %b}") for day in days)
