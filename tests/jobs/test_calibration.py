"""Calibration: figures that can be counted by hand, planted biases that are found, and judges without any cleared."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.scorer.openai_server import Call, Fault, JudgeServer

from groundwire.connectors import cut
from groundwire.connectors.testing import make_sample
from groundwire.jobs.calibration import (
    Candidate,
    HumanLabel,
    Probes,
    calibrate,
    draw,
    padded,
    read_labels,
    run_probes,
    shuffled,
    stratum_of,
)
from groundwire.scorer import (
    Block,
    Claim,
    ConfigError,
    HallucinationMetric,
    Judge,
    LLMJudge,
    MemoryCache,
    Partition,
    Row,
    Shown,
    View,
    build_judge,
    read_judge_config,
)

from .samples import row

END = datetime(2026, 11, 30, tzinfo=UTC)


def label(index: int, said: str | None = None, **more: Any) -> HumanLabel:
    return HumanLabel.model_validate({"partition_id": f"p{index}", "label": said, **more})


def judged(index: int, said: str, score: float = 1.0, **more: Any) -> Row:
    return row(f"r{index}", f"p{index}", label=said, score=score, **more)


# -- agreement


def test_the_figures_are_those_of_the_counted_table() -> None:
    people = ["hallucinated"] * 6 + ["grounded"] * 14
    judge = ["hallucinated"] * 4 + ["grounded"] * 2 + ["hallucinated"] * 1 + ["grounded"] * 13
    labels = [label(index, said, reason=f"people {index}") for index, said in enumerate(people)]
    rows = [judged(index, said, 0.4 if said == "hallucinated" else 1.0) for index, said in enumerate(judge)]
    [made], skipped = calibrate(labels, rows)
    assert skipped == []
    assert made.rows is not None
    assert made.rows.confusion.counts == ((13, 1), (2, 4))
    assert made.rows.kappa.agreement == pytest.approx(0.85)
    chance = (15 * 14 + 5 * 6) / 400
    assert made.rows.kappa.value == pytest.approx((0.85 - chance) / (1 - chance))
    assert made.rows.hallucinated.precision == pytest.approx(0.8)
    assert made.rows.hallucinated.recall == pytest.approx(4 / 6)
    assert made.threshold is not None
    assert made.threshold.at == pytest.approx(0.7)
    assert made.headline == made.rows.kappa
    assert [(one.row_id, one.people, one.judge) for one in made.differences] == [
        ("r4", "hallucinated", "grounded"),
        ("r5", "hallucinated", "grounded"),
        ("r6", "grounded", "hallucinated"),
    ]
    assert made.differences[0].people_reason == "people 4"
    assert made.differences[2].judge_reason == "“Bag costs 10 EUR.”: E1 says 12 EUR"


def test_rows_that_may_not_be_pooled_are_calibrated_apart() -> None:
    labels = [label(index, "hallucinated" if index % 2 else "grounded") for index in range(12)]
    same = [judged(index, "hallucinated" if index % 2 else "grounded") for index in range(12)]
    other = [one.model_copy(update={"config_fingerprint": "f2", "row_id": f"x{one.row_id}"}) for one in same]
    few = [one.model_copy(update={"config_fingerprint": "f3", "row_id": f"y{one.row_id}"}) for one in same[:9]]
    wrong = [one.model_copy(update={"label": "grounded"}) for one in other]
    made, skipped = calibrate(labels, [*same, *wrong, *few])
    assert [(one.config_fingerprint, one.rows.kappa.value if one.rows else None) for one in made] == [
        ("f1", 1.0),
        ("f2", 0.0),
    ]
    assert skipped == [
        "agent.hallucination 1.0.0 at trace level, fingerprint f3: 9 labels, at least 10 are needed",
    ]


def test_claims_are_matched_by_place_and_by_words_and_numbers_are_weighed_by_distance() -> None:
    said = ["hallucinated", "supported"]
    labels, rows = [], []
    for index in range(10):
        claims = [
            {"start": 0, "end": 4, "label": said[index % 2]},
            {"text": "Two  b.", "label": "supported"},
            {"text": "Not there.", "label": "hallucinated"},
        ]
        labels.append(HumanLabel.model_validate({"row_id": f"r{index}", "score": index / 10, "claims": claims}))
        found = (
            Claim(
                text="One.",
                start=0,
                end=4,
                label="hallucinated" if index % 2 == 0 else "inferred",
                probability=0.9 if index % 2 == 0 else 0.2,
            ),
            Claim(text="Two b.", start=5, end=11, label="model_knowledge"),
        )
        rows.append(judged(index, "grounded", index / 10, claims=found))
    [made], _ = calibrate(labels, rows)
    assert (made.claims_labelled, made.claims_found) == (30, 20)
    assert made.claims is not None
    assert made.claims.kappa.value == 1.0
    assert made.claim_threshold is not None
    assert made.claim_threshold.at == pytest.approx(0.55)
    assert made.claim_threshold.kappa == 1.0
    assert made.scores is not None
    assert (made.scores.value, made.scores.n) == (1.0, 10)
    assert made.rows is None
    assert made.headline == made.scores


def test_rows_without_a_verdict_and_answers_that_changed_are_counted_apart() -> None:
    labels = [label(index, "hallucinated" if index % 2 else "grounded", content_hash="h") for index in range(14)]
    rows = [judged(index, "hallucinated" if index % 2 else "grounded") for index in range(12)]
    rows += [row(f"r{index}", f"p{index}", status="unknown", score=None, label=None) for index in (12, 13)]
    hashes = {f"r{index}": "h" for index in range(14)} | {"r0": "another"}
    [made], _ = calibrate(labels, rows, hashes=hashes)
    assert (made.labels, made.without_verdict, made.changed) == (14, 2, 1)
    assert made.rows is not None
    assert made.rows.kappa.n == 11


def test_a_lower_is_better_metric_has_its_threshold_at_the_other_end() -> None:
    labels = [label(index, "hallucinated" if index < 5 else "grounded") for index in range(10)]
    rows = [
        judged(index, "matched" if index < 5 else "not_matched", float(index < 5), direction="lower_is_better")
        for index in range(10)
    ]
    [made], _ = calibrate(labels, rows)
    assert made.rows is not None
    assert made.rows.kappa.value == 1.0
    assert made.threshold is not None
    assert (made.threshold.at, made.lower_is_better) == (0.5, True)


def test_a_metric_with_a_number_only_is_calibrated_at_its_best_threshold() -> None:
    labels = [label(index, "hallucinated" if index < 5 else "grounded") for index in range(12)]
    rows = [judged(index, "", 0.5 if index < 4 else 0.9).model_copy(update={"label": None}) for index in range(12)]
    [made], _ = calibrate(labels, rows)
    assert made.rows is None
    assert made.threshold is not None
    assert made.threshold.at == pytest.approx(0.7)
    assert made.threshold.agreement == pytest.approx(11 / 12)
    assert made.headline is not None
    assert (made.headline.n, made.headline.value) == (12, made.threshold.kappa)


def test_a_draw_of_unequal_chances_is_weighted_back() -> None:
    labels = [label(i, "hallucinated" if i < 10 else "grounded", inclusion=1.0 if i < 10 else 0.1) for i in range(20)]
    rows = [judged(i, "hallucinated" if i in (*range(5), *range(10, 15)) else "grounded") for i in range(20)]
    [made], _ = calibrate(labels, rows)
    assert made.rows is not None
    assert made.rows.kappa.agreement == 0.5
    assert made.weighted_agreement == pytest.approx((5 + 5 * 10) / (10 + 10 * 10))
    assert made.weighted_interval is not None


REFUSED = [
    ([label(i, "grounded") for i in range(12)], 12, "all 12 labels say grounded: kappa is undefined"),
    ([label(i, "grounded" if i else "hallucinated") for i in range(9)], 9, "9 labels, at least 10"),
    ([label(i, "grounded" if i else "hallucinated") for i in range(12)], 10, "2 of 12 labels are for rows"),
]


@pytest.mark.parametrize(("labels", "rows", "message"), REFUSED)
def test_what_no_kappa_can_be_made_of_is_refused(labels: list[HumanLabel], rows: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        calibrate(labels, [judged(index, "grounded") for index in range(rows)])


def test_a_judge_that_decided_next_to_nothing_is_not_calibrated() -> None:
    labels = [label(index, "hallucinated" if index % 2 else "grounded") for index in range(20)]
    rows = [row(f"r{i}", f"p{i}", status="unknown", reason="no_claims", score=None, label=None) for i in range(20)]
    with pytest.raises(ConfigError, match="a verdict on 0 and a score on 0 of 20 labelled rows"):
        calibrate(labels, rows)


BAD_LINES = [
    ('{"row_id": "r1", "label": "fine"}', "line 2: label: Input should be 'hallucinated' or 'grounded'"),
    ('{"row_id": "r1", "score": NaN}', "line 2: score: Input should be a finite number"),
    ('{"row_id": "r1", "score": 3}', "line 2: score: Input should be less than or equal to 1"),
    ('{"label": "grounded"}', "line 2: needs row_id, partition_id or trace_id"),
    ('{"row_id": "r1"}', r"line 2: needs label \(hallucinated or grounded\), score or claims"),
    ("not json at all SECRET", "line 2: Invalid JSON"),
]


@pytest.mark.parametrize(("line", "message"), BAD_LINES)
def test_a_bad_label_is_named_by_its_line_and_not_repeated(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"row_id": "r0", "label": "grounded"}\n' + line + "\n")
    with pytest.raises(ConfigError, match=message) as raised:
        read_labels(path)
    assert "SECRET" not in str(raised.value)


def test_the_last_label_of_an_answer_counts(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    lines = [{"row_id": "a", "label": "grounded"}, {"row_id": "b", "label": "grounded"}]
    path.write_text("\n\n".join(map(json.dumps, [*lines, {"row_id": "a", "label": "hallucinated"}])))
    assert [(one.row_id, one.label) for one in read_labels(path)] == [("b", "grounded"), ("a", "hallucinated")]
    for content in ("", None):
        if content is None:
            path.unlink()
        else:
            path.write_text(content)
        with pytest.raises(ConfigError, match="groundwire label"):
            read_labels(path)


# -- drawing


def candidates(count: int) -> Iterator[Candidate]:
    for index in range(count):
        score = (0.0, 0.3, 0.6, 0.9, 1.0, 1.0, 1.0, 1.0)[index % 8]
        status = ("unknown", "invalid")[index % 2] if index % 10 == 9 else "scored"
        yield Candidate(row_id=f"r{index}", status=status, score=score if status == "scored" else None, inclusion=0.5)


def test_a_draw_is_spread_over_scores_and_statuses_and_the_same_again() -> None:
    drawn = draw(candidates(1000), 42, seed=1)
    assert drawn == draw(reversed(list(candidates(1000))), 42, seed=1)
    assert len(drawn) == 42
    sizes = {one.stratum: sum(other.stratum == one.stratum for other in drawn) for one in drawn}
    assert set(sizes) == {"scored 0", "scored under 0.5", "scored 0.5 to 0.8", "scored 0.8 to 1", "scored 1"}
    assert set(sizes.values()) <= {8, 9}
    assert draw(candidates(1000), 42, seed=2) != drawn
    everything = draw(candidates(1000), 5000, seed=1)
    assert {one.inclusion for one in everything} == {0.5}
    assert len(everything) == sum(one.status in ("scored", "unknown") for one in candidates(1000))
    of_ones = [one for one in drawn if one.stratum == "scored 1"]
    there = sum(stratum_of(one.status, one.score) == "scored 1" for one in candidates(1000))
    assert of_ones[0].inclusion == pytest.approx(0.5 * len(of_ones) / there)


def test_what_was_labelled_stays_in_the_draw_when_more_rows_come() -> None:
    first = draw(candidates(100), 30, seed=1)
    done = [one.row_id for one in first[:12]]
    later = draw(candidates(5000), 30, seed=1, done=done)
    assert set(done) <= {one.row_id for one in later}
    assert {one.row_id for one in later[:12]} == set(done)


# -- twins and probes


def view_of(*texts: str) -> View:
    blocks = [Block(name=f"E{n}", kind="tool", text=text) for n, text in enumerate(texts, start=1)]
    blocks.append(Block(name="U1", kind="user", text="asked"))
    return View(shown=tuple(Shown(block=block, text=block.text) for block in blocks))


def test_shuffled_evidence_is_the_same_blocks_under_the_names_of_their_places() -> None:
    view = view_of("a", "b", "c")
    moved = shuffled(view, seed=3)
    texts = [shown.text for shown in moved.shown]
    assert texts in (["b", "c", "a", "asked"], ["c", "a", "b", "asked"])
    assert [shown.block.name for shown in moved.shown] == ["E1", "E2", "E3", "U1"]
    assert moved == shuffled(view, seed=3)
    one = View(shown=view.shown[2:])
    assert shuffled(one, seed=3) == one


@pytest.fixture(scope="module")
def partitions() -> list[Partition]:
    found: list[Partition] = []
    for index in range(12):
        sample = make_sample(index, seed=5, kind="hallucinated" if index % 3 == 0 else "grounded", end=END)
        found += cut(sample.trace, "trace")
    return found


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    server = JudgeServer().start()
    yield server
    server.stop()


async def probed(server: JudgeServer, partitions: list[Partition]) -> Probes:
    config = read_judge_config({"kind": "llm", "model": "judge", "base_url": server.url, "api_key": "k"}, where="test")

    @asynccontextmanager
    async def opened() -> AsyncIterator[Judge]:
        judge = build_judge(config, cache=MemoryCache(entries=0))
        assert isinstance(judge, LLMJudge)
        yield judge
        await judge.close()

    async with opened() as judge:
        return await run_probes(partitions, HallucinationMetric(judge=judge), opened, repeats=2, run_id="test")


def relabelled(decide: Callable[[Call, int, dict[str, Any]], str]) -> Callable[[int, Call], Fault | None]:
    """A judge with a will of its own about each label."""

    def plan(_: int, call: Call) -> Fault | None:
        def change(filled: dict[str, Any]) -> dict[str, Any]:
            entries = [
                {**entry, "label": decide(call, place, entry), "reason": "so I feel"}
                for place, entry in enumerate(filled["labels"])
            ]
            return {"labels": entries}

        return Fault(change=change) if call.form == "labels" else None

    return plan


async def test_a_judge_without_a_bias_is_cleared_and_its_cache_was_bypassed(
    server: JudgeServer, partitions: list[Partition]
) -> None:
    found = await probed(server, partitions)
    assert found.position is not None
    assert (found.retest.found, found.position.found, found.verbosity.found) == (False, False, False)
    assert (found.retest.flipped, found.retest.n, found.retest.spread) == (0, 12, 0.0)
    assert found.retest.flipped_interval.high > 0.2  # twelve rows can't rule out a fifth
    assert len(server.asked("labels")) == 4 * 12
    assert found.calls >= 8 * 12
    assert any(padded("x")[:30] in call.sections["CLAIMS"] for call in server.asked("labels"))


async def test_an_unsteady_judge_is_found(server: JudgeServer, partitions: list[Partition]) -> None:
    asked: Counter[str] = Counter()

    def moody(call: Call, place: int, entry: dict[str, Any]) -> str:
        claims = call.sections["CLAIMS"]
        asked[claims] += place == 0
        return "hallucinated" if asked[claims] == 2 and len(claims) % 2 else str(entry["label"])

    server.plan = relabelled(moody)
    found = await probed(server, partitions)
    assert found.retest.found
    assert found.retest.flipped >= 3
    assert found.retest.spread > 0.1


async def test_a_judge_that_believes_only_what_stands_first_is_found(
    server: JudgeServer, partitions: list[Partition]
) -> None:
    def first_only(call: Call, place: int, entry: dict[str, Any]) -> str:
        first = next(name for name in call.sections if name.startswith(("E", "U", "S")))
        return "supported" if entry["block"] and first.startswith(entry["block"]) else "hallucinated"

    server.plan = relabelled(first_only)
    found = await probed(server, partitions)
    assert found.position is not None
    assert found.position.found
    assert found.position.effect > 0.2
    assert not found.retest.found


@pytest.mark.parametrize(("lenient", "sign"), [(True, 1), (False, -1)])
async def test_a_judge_that_is_swayed_by_length_is_found(
    lenient: bool, sign: int, server: JudgeServer, partitions: list[Partition]
) -> None:
    def by_length(call: Call, place: int, entry: dict[str, Any]) -> str:
        line = call.sections["CLAIMS"].split("\n")[place]
        swayed = "supported" if lenient else "hallucinated"
        return swayed if len(line) > 150 else str(entry["label"])

    server.plan = relabelled(by_length)
    found = await probed(server, partitions)
    assert found.position is not None
    assert found.verbosity.found
    assert found.verbosity.effect * sign > 0.05
    assert (found.retest.found, found.position.found) == (False, False)


async def test_too_few_rows_are_not_probed(server: JudgeServer, partitions: list[Partition]) -> None:
    with pytest.raises(ConfigError, match="9 labelled answers could be read, a probe needs at least 10"):
        await probed(server, partitions[:9])


async def test_rows_that_the_judge_cannot_decide_are_no_steadiness(
    server: JudgeServer, partitions: list[Partition]
) -> None:
    server.plan = lambda index, call: Fault(refusal="no", content="") if call.form == "labels" else None
    with pytest.raises(ConfigError, match="the judge decided 0 of the rows every time"):
        await probed(server, partitions)
