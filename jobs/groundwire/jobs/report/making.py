"""Making the report of rates from the state."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import Connection

from groundwire.jobs.calibration import standing
from groundwire.jobs.report.gathering import GatheredGroup, Gathering, GroupKey
from groundwire.jobs.report.rates import Break, Cut, Group, RatesReport, Spent
from groundwire.jobs.store import Store, calibrations, counts, gaps, spend
from groundwire.jobs.store.rates import judge_of_row, rate_rows
from groundwire.scorer import manifest_names, metric_kind

__all__ = ["make_rates"]

FULL = 0.99
"""Share of a cap at which a window counts as full: the next call's worst case no longer fits."""


async def make_rates(
    store: Store, *, since: datetime, until: datetime, now: datetime, evaluator: str | None = None
) -> RatesReport:
    """Everything that can be said of `[since, until)`, by the time of the traces; spend by the time of spending."""
    return await store.read(_make, since=since, until=until, now=now, evaluator=evaluator)


def _make(tx: Connection, *, since: datetime, until: datetime, now: datetime, evaluator: str | None) -> RatesReport:
    gathered = Gathering(until=until)
    gathered.add(rate_rows(tx, since=since, until=until, evaluator=evaluator))
    ordered = sorted(gathered.groups.items(), key=lambda item: (item[0][0], item[0][3], item[0][1], item[1].first))
    groups = tuple(_group(tx, key, group, now) for key, group in ordered)
    cuts = tuple(
        Cut(evaluator=gap.evaluator, why=gap.why, start=gap.starts_at, end=gap.ends_at, skipped=gap.n)
        for gap in gaps.list_gaps(tx, since=since, until=until, evaluator=evaluator, closed=False)
    )
    not_judged: dict[str, dict[str, int]] = {}
    for (name, reason), n in sorted(counts.totals(tx, since=since, until=until).items()):
        if evaluator in (None, name) and reason not in counts.PASSED:
            not_judged.setdefault(name, {})[reason] = n
    return RatesReport(
        since=since,
        until=until,
        made_at=now,
        groups=groups,
        breaks=tuple(sorted((*_judge_breaks(groups), *_prompt_breaks(gathered)), key=lambda one: one.at)),
        cuts=cuts,
        not_judged=not_judged,
        spent=_spent(tx, since=since, until=until, evaluator=evaluator),
        traces=gathered.traces(),
        trace_days=gathered.trace_days(),
    )


def _group(tx: Connection, key: GroupKey, group: GatheredGroup, now: datetime) -> Group:
    evaluator, metric, version, partition_type, fingerprint = key
    judge = judge_of_row(tx, group.row_id)
    asks = metric not in manifest_names() or metric_kind(metric).judged
    made = calibrations.latest(tx, evaluator, fingerprint)
    known = standing(made, judge=judge, fingerprint=fingerprint, now=now)
    return Group(
        evaluator=evaluator,
        metric=metric,
        metric_version=version,
        partition_type=partition_type,
        config_fingerprint=fingerprint,
        judge=judge,
        first=group.first,
        last=group.last,
        overall=group.overall.rate("all"),
        days=tuple(pool.rate(day) for day, pool in sorted(group.days.items())),
        by=group.rates_by(),
        drift=group.drift(),
        calibration=known.text if known else "judge never calibrated against people" if asks else "checked in code",
        calibration_stale=known.stale if known else asks,
    )


def _judge_breaks(groups: Iterable[Group]) -> list[Break]:
    """Where one group of an evaluator takes over from another."""
    found = []
    before: dict[tuple[str, str, str], Group] = {}
    for group in sorted(groups, key=lambda one: one.first):
        series = (group.evaluator, group.partition_type, group.metric)
        if series in before:
            what = _changed(before[series], group)
            at = group.first
            found.append(Break(evaluator=group.evaluator, partition_type=group.partition_type, at=at, what=what))
        before[series] = group
    return found


def _changed(old: Group, new: Group) -> str:
    if old.metric_version != new.metric_version:
        return f"metric: {old.metric_version} → {new.metric_version}"
    if (old.judge.get("kind"), old.judge.get("model")) != (new.judge.get("kind"), new.judge.get("model")):
        return f"judge: {old.judge_name} → {new.judge_name}"
    if old.judge.get("prompt_digest") != new.judge.get("prompt_digest"):
        return "judge's prompts"
    if old.judge != new.judge:
        return f"judge's parameters: {_differing(_parameters(old), _parameters(new))}"
    return "evaluator's configuration"


def _parameters(group: Group) -> Mapping[str, JsonValue]:
    parameters = group.judge.get("parameters")
    return parameters if isinstance(parameters, dict) else {}


def _differing(old: Mapping[str, JsonValue], new: Mapping[str, JsonValue]) -> str:
    return ", ".join(sorted(name for name in {*old, *new} if old.get(name) != new.get(name))) or "other"


def _prompt_breaks(gathered: Gathering) -> list[Break]:
    """Where a version of one of the application's prompts was first seen, the first version of each apart."""
    found = []
    for (evaluator, partition_type), seen in gathered.prompts.items():
        known: set[str] = set()
        for prompt, at in sorted(seen.items(), key=lambda item: item[1]):
            name = prompt.rpartition("@")[0] or prompt
            if name in known:
                found.append(Break(evaluator=evaluator, partition_type=partition_type, at=at, what=f"prompt: {prompt}"))
            known.add(name)
    return found


def _spent(tx: Connection, *, since: datetime, until: datetime, evaluator: str | None) -> tuple[Spent, ...]:
    sums: dict[tuple[str, str], list[tuple[int, int | None]]] = {}
    for state in spend.list_windows(tx, since=since, until=until, evaluator=evaluator):
        window = state.window
        if window.per == "trace":
            continue
        whose = window.name or "all"
        name = whose if window.scope == "evaluator" else f"{whose} ({window.scope})"
        sums.setdefault((name, window.per), []).append((state.spent + state.reserved, window.cap))
    return tuple(
        Spent(
            whose=whose,
            per=per,
            windows=len(windows),
            micro_dollars=sum(spent for spent, _ in windows),
            cap=windows[0][1],
            at_cap=sum(cap is not None and spent >= FULL * cap for spent, cap in windows),
        )
        for (whose, per), windows in sorted(sums.items())
    )
