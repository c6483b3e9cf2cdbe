"""How well the offline judge, its plain rules and the bare code checks tell supported claims from made-up ones.

`python -m tests.benchmarks.bench_accuracy [--json FILE]` prints a table and returns the figures. No set is used for
both fitting and figure: each is judged with a combination, and with thresholds, fitted on the other families alone.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from tests.benchmarks import agentrx_numbers
from tests.benchmarks.fit_offline import fit, measure
from tests.benchmarks.sets import FAMILIES, Item, available, drawn, whole

from groundwire.scorer import Claim, DraftClaim
from groundwire.scorer.checks import EvidenceIndex, run_checks
from groundwire.scorer.judges.combination import COVERAGE_RULE, Combination
from groundwire.scorer.judges.offline import OfflineJudge

BASELINES = {"wice": 0.775, "fcgpt": 0.769, "fcgpt_refute": 0.538, "begin": 0.946}
"""AUC of nine code features and a logistic regression fitted on other sets, on the same draw."""


def labelled(items: Sequence[Item], combination: Combination) -> list[Claim]:
    """Each claim as the judge labels it against its own evidence."""

    async def run() -> list[Claim]:
        judge = OfflineJudge(combination=combination)
        claims: list[Claim] = []
        for item in items:
            reply = await judge.label("", [DraftClaim(text=item.claim)], item.view)
            claims.extend(reply.value or ())
        return claims

    return asyncio.run(run())


def checked(items: Sequence[Item]) -> list[Claim]:
    """Each claim by the code checks alone: hallucinated where an item is missing or contradicted, else supported."""
    claims = []
    for item in items:
        checks = [
            check
            for check in run_checks(item.claim, EvidenceIndex.of(item.view))
            if check.check not in {"name", "citation"}
        ]
        missing = [check for check in checks if check.outcome in {"not_found", "contradicted"}]
        probability = len(missing) / len(checks) if checks else 0.0
        claims.append(Claim(text=item.claim, label="hallucinated" if missing else "supported", probability=probability))
    return claims


def figures(items: Sequence[Item], claims: Sequence[Claim]) -> dict[str, float | int | None]:
    """n, AUC on `Claim.probability`; balanced accuracy of the decided; precision and recall of `hallucinated` over all
    claims; the share decided. All in [0, 1] but n; None where nothing was called hallucinated."""
    from sklearn.metrics import roc_auc_score

    truth = [item.hallucinated for item in items]
    called = [claim.label == "hallucinated" for claim in claims]
    hits = sum(one and other for one, other in zip(truth, called, strict=True))
    decided = [(actual, claim.label) for actual, claim in zip(truth, claims, strict=True) if claim.label is not None]
    rates = []
    for actual in (True, False):
        of = [label == "hallucinated" for is_hallucinated, label in decided if is_hallucinated is actual]
        if of:
            rates.append(sum(of) / len(of) if actual else 1 - sum(of) / len(of))
    return {
        "n": len(items),
        "auc": round(float(roc_auc_score(truth, [claim.probability or 0.0 for claim in claims])), 3),
        "balanced_accuracy": round(sum(rates) / len(rates), 3) if rates else None,
        "precision": round(hits / sum(called), 3) if any(called) else None,
        "recall": round(hits / sum(truth), 3),
        "decided": round(len(decided) / len(items), 3),
    }


def measured() -> dict[str, dict[str, Any]]:
    """The figures of every set: `judge` (held out), `rules` (no fitting), `checks` (numbers, dates, codes alone)."""
    families = {family: measure(whole(family)) for family in dict.fromkeys(FAMILIES.values())}
    results: dict[str, dict[str, Any]] = {}
    for name, family in FAMILIES.items():
        items = drawn(name)
        combination = fit([other for key, other in families.items() if key != family])
        results[name] = {
            "fitted_on": [key for key in families if key != family],
            "judge": figures(items, labelled(items, combination)),
            "rules": figures(items, labelled(items, COVERAGE_RULE)),
            "checks": figures(items, checked(items)),
            "baseline_auc": BASELINES[name],
        }
    return results


def agents() -> dict[str, Any] | None:
    """The number check on AgentRx tau-retail: messages flagged of successful and of failed traces; None if absent."""
    traces = agentrx_numbers.load()
    if traces is None:
        return None
    rates = agentrx_numbers.measure(traces)
    return {
        name: {
            "messages": rates.messages[successful],
            "flagged": rates.count(successful=successful),
            "share": round(rates.share(successful=successful), 4),
        }
        for name, successful in (("successful", True), ("failed", False))
    }


def table(results: dict[str, dict[str, Any]]) -> Table:
    """The figures for a terminal."""
    columns = ("auc", "balanced_accuracy", "precision", "recall", "decided")
    shown = Table("set", "n", "by", *(column.replace("_", " ") for column in columns), "baseline AUC")
    for name, result in results.items():
        for by in ("judge", "rules", "checks"):
            row = result[by]
            cells = ("–" if row[column] is None else f"{row[column]:.3f}" for column in columns)
            shown.add_row(name, str(row["n"]), by, *cells, f"{result['baseline_auc']:.3f}" if by == "judge" else "")
    mean = sum(result["judge"]["auc"] for result in results.values()) / len(results)
    shown.caption = f"mean AUC of the judge, every set held out: {mean:.3f}"
    return shown


def main() -> dict[str, dict[str, Any]]:
    """Measure, print the table and the JSON, and return the figures; empty where the sets are absent."""
    console = Console()
    if not available():
        console.print("bench_accuracy: skipped, the labelled sets are not there (../shared/data)")
        return {}
    results = measured()
    console.print(table(results))
    flagged = agents()
    if flagged is not None:
        for name, row in flagged.items():
            console.print(f"tau-retail, {name} traces: {row['flagged']} of {row['messages']} messages flagged")
        results = {**results, "agentrx_tau_retail": flagged}
    text = json.dumps(results)
    if "--json" in sys.argv[1:]:
        Path(sys.argv[sys.argv.index("--json") + 1]).write_text(text + "\n", encoding="utf-8")
    else:
        print(text)
    return results


if __name__ == "__main__":
    main()
