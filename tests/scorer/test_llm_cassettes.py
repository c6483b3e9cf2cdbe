"""The wire format, held by cassettes: recorded through the SDK, played back with no server at all.

Record anew with `pytest --record-mode=rewrite tests/scorer/test_llm_cassettes.py`: the scripted endpoint is then
started, else nothing listens where the judge is told to ask.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.scorer.judging import QUESTION, facts, judge_of, view
from tests.scorer.openai_server import Fault, JudgeServer

from groundwire.scorer.fence import Fence
from groundwire.scorer.judges.llm import LLMJudge

CASSETTES = Path(__file__).parent / "cassettes"


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[JudgeServer]:
    """The scripted endpoint while recording; an address where nobody answers while playing."""
    server = JudgeServer()
    recording = request.config.getoption("--record-mode") not in (None, "none")
    if recording:
        server.start()
    else:
        server.url = "http://127.0.0.1:9/v1"
    yield server
    if recording:
        server.stop()


def fixed(judge: LLMJudge) -> LLMJudge:
    """The same prompt every time."""
    judge.asking.fence = lambda: Fence(mark="141421356")
    return judge


@pytest.mark.vcr
async def test_chat_by_schema(server: JudgeServer) -> None:
    judge = fixed(judge_of(server))
    split = await judge.split(QUESTION, "Hello! It departs at 18:40. The ticket cost 412.00 euros.")
    assert split.value is not None
    claims = [claim for claim in split.value if claim.kind == "fact"]
    labels = await judge.label(QUESTION, claims, view())
    assert labels.value is not None
    assert [claim.label for claim in labels.value] == ["supported", "hallucinated"]
    assert labels.usage.input_tokens > 0
    await judge.close()


@pytest.mark.vcr
async def test_chat_by_tool_after_a_refused_schema(server: JudgeServer) -> None:
    server.refuses = {"response_format": "response_format json_schema is not supported"}
    judge = fixed(judge_of(server))
    labels = await judge.label(QUESTION, facts("It departs at 18:40."), view())
    assert labels.value is not None
    assert labels.value[0].label == "supported"
    assert labels.notes["output"] == "tool"
    await judge.close()


@pytest.mark.vcr
async def test_responses_after_a_busy_moment(server: JudgeServer) -> None:
    server.faults.append(Fault(status=429, headers={"retry-after": "0.01"}, error={"message": "slow down"}))
    judge = fixed(judge_of(server, api="responses"))
    labels = await judge.label(QUESTION, facts("It departs at 18:40."), view())
    assert labels.value is not None
    assert labels.value[0].label == "supported"
    await judge.close()


def test_no_cassette_holds_a_secret() -> None:
    files = list(CASSETTES.rglob("*.yaml"))
    assert len(files) == 3
    for path in files:
        assert not re.search(r"sk-[a-z]|pk-lf|lsv2_|Bearer", path.read_text(encoding="utf-8")), path.name
