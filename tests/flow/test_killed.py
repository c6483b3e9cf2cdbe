"""Killed at every step, and at any moment: started again, the platform's scores are those of an undisturbed run."""

import multiprocessing
import random
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.flow.child import run

from groundwire.connectors.testing import FakePlatform, make_samples
from groundwire.jobs.flow import STEPS

START = datetime(2026, 11, 30, 12, tzinfo=UTC)
IN_FLIGHT = 2 * 2
"""Calls that can be under way at once: two workers, and the two questions of each."""


def prepare(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    platform = FakePlatform(folder / "platform.db", clock=lambda: START)
    platform.put_all(sample.trace for sample in make_samples(12, seed=3, first_end=START - timedelta(hours=1)))
    platform.close()


def child(folder: Path, attempt: int, step: str = "-", nth: int = 0, url: str | None = None) -> int:
    """Run the line one turn further in a process of its own; returns its exit code, -9 where it was killed."""
    processes = multiprocessing.get_context("forkserver")  # a process that has imported everything forks each child
    processes.set_forkserver_preload(["tests.flow.child"])
    process = processes.Process(
        target=run, args=(folder, url or f"sqlite:///{folder / 'state.db'}", attempt, step, nth)
    )
    process.start()
    process.join(timeout=120)
    assert process.exitcode in (0, -signal.SIGKILL), "the child failed; its error stands above"
    return process.exitcode


def scores(folder: Path) -> list[tuple[str, str, float | str]]:
    platform = FakePlatform(folder / "platform.db", clock=lambda: START)
    found = sorted((score.score_id, score.trace_id, score.value) for score in platform.scores())
    platform.close()
    return found


def paid(folder: Path) -> list[str]:
    bill = folder / "bill"
    return bill.read_text().split() if bill.exists() else []


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    prepare(folder)
    assert child(folder, 0) == 0
    return folder


def test_every_step_of_the_line_is_reached(undisturbed: Path) -> None:
    reached = {line.split()[0] for line in (undisturbed / "steps").read_text().splitlines()}
    assert reached - {"any"} == set(STEPS) - {"fetch"}, "fetch is reached only by work whose trace isn't at hand"


def check(folder: Path, undisturbed: Path, url: str | None = None) -> None:
    for attempt in (1, 2):
        assert child(folder, attempt, url=url) == 0
    assert scores(folder) == scores(undisturbed)
    assert len(scores(folder)) > 5
    assert set(paid(folder)) == set(paid(undisturbed))
    assert len(paid(folder)) <= len(paid(undisturbed)) + IN_FLIGHT


@pytest.mark.parametrize("step", [step for step in STEPS if step != "fetch"])
def test_killed_at_a_step(step: str, tmp_path: Path, undisturbed: Path) -> None:
    prepare(tmp_path)
    assert child(tmp_path, 0, step, 1 if step == "born" else 3) == -signal.SIGKILL
    check(tmp_path, undisturbed)


def test_killed_while_it_fetches_what_another_left_behind(tmp_path: Path, undisturbed: Path) -> None:
    prepare(tmp_path)
    assert child(tmp_path, 0, "judge", 1) == -signal.SIGKILL
    assert child(tmp_path, 1, "fetch", 1) == -signal.SIGKILL
    check_after = [child(tmp_path, attempt) for attempt in (2, 3)]
    assert check_after == [0, 0]
    assert scores(tmp_path) == scores(undisturbed)


@pytest.mark.parametrize("seed", range(10))
def test_killed_again_and_again_at_any_moment(seed: int, tmp_path: Path, undisturbed: Path) -> None:
    """Ten times ten random instants."""
    steps = dict(line.split() for line in (undisturbed / "steps").read_text().splitlines())
    drawn = random.Random(seed)
    prepare(tmp_path)
    kills = 0
    for attempt in range(10):
        kills += child(tmp_path, attempt, "any", drawn.randint(1, int(steps["any"]) // 4)) != 0
    assert kills > 0
    for attempt in (10, 11):
        assert child(tmp_path, attempt) == 0
    assert scores(tmp_path) == scores(undisturbed)
    assert set(paid(tmp_path)) == set(paid(undisturbed))
    assert len(paid(tmp_path)) <= len(paid(undisturbed)) + kills * IN_FLIGHT


@pytest.mark.postgres
@pytest.mark.parametrize("step", [step for step in STEPS if step != "fetch"])
def test_killed_at_a_step_with_its_state_in_postgresql(
    step: str, tmp_path: Path, undisturbed: Path, postgres_url: str
) -> None:
    prepare(tmp_path)
    assert child(tmp_path, 0, step, 1 if step == "born" else 3, url=postgres_url) == -signal.SIGKILL
    check(tmp_path, undisturbed, url=postgres_url)
