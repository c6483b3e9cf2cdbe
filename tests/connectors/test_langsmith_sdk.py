"""Applications traced by the real SDKs to the loopback LangSmith, and read back by the connector."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from langsmith import Client, evaluate, traceable, tracing_context
from langsmith.evaluation import aevaluate
from langsmith.schemas import Example
from tests.connectors.langfuse_app import served
from tests.connectors.langsmith_app import API_KEY, PROJECT, LangsmithApp
from tests.connectors.langsmith_runs import settings_for, wire_for

from groundwire.connectors import Score, Target, Trace, Window, cut
from groundwire.connectors.langsmith import LangsmithSink, LangsmithSource, evaluator
from groundwire.scorer import HallucinationMetric, OfflineJudge

ASKED, FOUND, SAID = "How long do refunds take?", "Refunds take 5 business days.", "Refunds take 9 business days."
METRIC = HallucinationMetric(judge=OfflineJudge())


@pytest.fixture
def app() -> Iterator[tuple[LangsmithApp, str]]:
    held = LangsmithApp()
    with served(held) as url:
        yield held, url


@pytest.fixture
def client(app: tuple[LangsmithApp, str]) -> Iterator[Client]:
    made = Client(api_url=app[1], api_key=API_KEY)
    yield made
    made.cleanup()


async def read_back(url: str) -> Trace:
    settings = settings_for(url, settle=0)
    source = LangsmithSource(settings, wire=wire_for(settings))
    now = wire_for(settings).now()
    pages = [page async for page in source.pull(Window(start=now - timedelta(hours=1)), None)]
    await source.close()
    [trace] = [trace for page in pages for trace in page.traces]
    return trace


async def test_traceable_functions_come_back_and_are_scored(app: tuple[LangsmithApp, str], client: Client) -> None:
    @traceable(run_type="tool", name="search_docs")
    def search(query: str) -> str:
        return FOUND

    @traceable(name="agent", tags=["prod"], metadata={"thread_id": "t-1"})
    def agent(question: str) -> dict[str, str]:
        search("refund time")
        return {"answer": SAID}

    def work() -> None:
        with tracing_context(enabled=True, client=client, project_name="support"):
            agent(ASKED)
        client.flush()

    await asyncio.to_thread(work)
    trace = await read_back(app[1])
    assert [(span.kind, span.name) for span in trace.spans] == [("CHAIN", "agent"), ("TOOL", "search_docs")]
    assert (trace.session_id, trace.tags, trace.origin) == ("t-1", ("prod",), PROJECT)
    [partition] = cut(trace, "trace")
    row = await METRIC.score(partition)
    assert row.score == 0.0
    settings = settings_for(app[1])
    sink = LangsmithSink(settings, wire=wire_for(settings))
    assert trace.start_time is not None
    target = Target(project="prod", trace_id=trace.trace_id, start_time=trace.start_time)
    [delivery] = await sink.push([Score(score_id=str(uuid4()), name="grounded", value=row.score, target=target)])
    await sink.close()
    assert delivery.state == "delivered"
    assert [(one["key"], one["score"], one["run_id"]) for one in app[0].shown()] == [("grounded", 0.0, trace.trace_id)]


@pytest.mark.filterwarnings("ignore:'upload_runs' parameter is in beta")
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_an_experiment_is_scored_by_the_sdks_own_runner(client: Client, asynchronous: bool) -> None:
    """`evaluate` and `aevaluate` with nothing uploaded: the SDK calls the target and hands us its run."""
    examples = [
        Example(id=uuid4(), inputs={"question": ASKED}, outputs={"answer": FOUND}, dataset_id=uuid4()),
    ]
    chosen: Any = evaluator(METRIC, name="grounded", context_key="contexts", asynchronous=asynchronous)

    def target(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"answer": SAID, "contexts": [FOUND]}

    async def atarget(inputs: dict[str, Any]) -> dict[str, Any]:
        return target(inputs)

    if asynchronous:
        results: Any = await aevaluate(
            atarget, data=examples, evaluators=[chosen], client=client, upload_results=False, blocking=True
        )
        rows = [row async for row in results]
    else:
        results = await asyncio.to_thread(
            evaluate, target, data=examples, evaluators=[chosen], client=client, upload_results=False, blocking=True
        )
        rows = list(results)
    [result] = rows[0]["evaluation_results"]["results"]
    assert (result.key, result.score) == ("grounded", 0.0)
    assert result.metadata["claims"][0]["label"] == "hallucinated"


async def test_a_langgraph_agent_comes_back(app: tuple[LangsmithApp, str], client: Client) -> None:
    pytest.importorskip("langgraph", reason="langgraph isn't in the development environment")
    pytest.importorskip("langchain_core", reason="langchain-core isn't in the development environment")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_core.tools import tool
    from langchain_core.tracers import LangChainTracer
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    @tool  # type: ignore[untyped-decorator]
    def search_docs(query: str) -> str:
        """Search."""
        return FOUND

    calls = [{"name": "search_docs", "args": {"query": "refund time"}, "id": "call_1", "type": "tool_call"}]
    model = GenericFakeChatModel(messages=iter([AIMessage(content="", tool_calls=calls), AIMessage(content=SAID)]))

    def say(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("agent", say)
    graph.add_node("tools", ToolNode([search_docs]))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "agent")

    def work() -> None:
        tracer = LangChainTracer(project_name="support", client=client)
        config: Any = {"callbacks": [tracer], "configurable": {"thread_id": "t-1"}, "metadata": {"thread_id": "t-1"}}
        graph.compile().invoke({"messages": [HumanMessage(ASKED)]}, config)
        client.flush()

    await asyncio.to_thread(work)
    trace = await read_back(app[1])
    assert trace.session_id == "t-1"
    assert {"TOOL", "LLM", "CHAIN"} == {span.kind for span in trace.spans}
    [partition] = cut(trace, "trace")
    row = await METRIC.score(partition)
    assert row.status == "scored", row.reason
    assert row.score == 0.0
