"""Small agents on several SDKs, each under its own instrumentation; each returns what was captured of one run."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tests.demo.fake_server import MODEL, Server
from tests.demo.scenarios import SCENARIOS
from tests.demo.stable import SeededIds

__all__ = [
    "bare",
    "langfuse_sdk",
    "langgraph_langsmith",
    "langgraph_openinference",
    "openai_openinference",
    "pydantic_ai_genai",
    "traceable_langsmith",
]


def _provider(name: str) -> tuple[TracerProvider, InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(id_generator=SeededIds(name), resource=Resource({"service.name": name.replace("_", "-")}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter


def _schemas(name: str) -> list[dict[str, Any]]:
    """The tools as OpenAI's API wants them; the parameters are those of the scripted calls."""
    calls = [step for step in SCENARIOS[name].steps if not isinstance(step, str)]
    return [
        {
            "type": "function",
            "function": {
                "name": call.tool,
                "description": call.tool.replace("_", " "),
                "parameters": {
                    "type": "object",
                    "properties": {key: {"type": _type(value)} for key, value in call.arguments.items()},
                },
            },
        }
        for call in calls
    ]


def _type(value: Any) -> str:
    return "boolean" if isinstance(value, bool) else "integer" if isinstance(value, int) else "string"


def _client(server: Server, name: str) -> Any:
    from openai import OpenAI

    return OpenAI(base_url=f"{server.url}/v1", api_key=name, max_retries=0)


def _chat(
    client: Any, name: str, run_tool: Callable[[str, dict[str, Any]], str]
) -> tuple[list[dict[str, Any]], str | None]:
    """The usual loop of an agent on the OpenAI SDK; returns the messages before the last, and the last."""
    scenario = SCENARIOS[name]
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": scenario.system},
        {"role": "user", "content": scenario.question},
    ]
    closing = list(scenario.closing[::2])
    while True:
        completion = client.chat.completions.create(model=MODEL, messages=messages, tools=_schemas(name))
        message = completion.choices[0].message
        if not message.tool_calls and not closing:
            return messages, message.content
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls or ():
            result = run_tool(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        if not message.tool_calls:
            messages.append({"role": "user", "content": closing.pop(0)})


def _result(name: str, tool: str, arguments: dict[str, Any]) -> str:
    value = SCENARIOS[name].tools[tool](**arguments)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def bare(server: Server, name: str) -> list[dict[str, Any]]:
    """The OpenAI SDK without any tracing: what is kept is the list of messages."""
    messages, answer = _chat(_client(server, name), name, partial(_result, name))
    return [*messages, {"role": "assistant", "content": answer}]


def openai_openinference(server: Server, name: str) -> Sequence[ReadableSpan]:
    """The OpenAI SDK under OpenInference's instrumentation, agent and tools as OpenInference spans."""
    from openinference.instrumentation import TracerProvider as OpenInferenceProvider
    from openinference.instrumentation.openai import OpenAIInstrumentor

    exporter = InMemorySpanExporter()
    provider = OpenInferenceProvider(id_generator=SeededIds(name), resource=Resource({"service.name": "order-desk"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("order-desk")
    instrumentor = OpenAIInstrumentor()
    instrumentor.instrument(tracer_provider=provider)

    def run_tool(tool: str, arguments: dict[str, Any]) -> str:
        with tracer.start_as_current_span(tool, openinference_span_kind="tool") as span:
            span.set_tool(name=tool, parameters=arguments)
            span.set_input(arguments)
            result = _result(name, tool, arguments)
            span.set_output(result, mime_type="application/json")
            span.set_status(StatusCode.OK)
            return result

    try:
        with tracer.start_as_current_span("order-desk", openinference_span_kind="agent") as span:
            span.set_input(SCENARIOS[name].question)
            _, answer = _chat(_client(server, name), name, run_tool)
            span.set_output(answer)
            span.set_status(StatusCode.OK)
    finally:
        instrumentor.uninstrument()
    return exporter.get_finished_spans()


def _graph(server: Server, name: str) -> Any:
    """A LangGraph agent: a model node and a tool node (a node called "agent" would be traced as a second agent)."""
    from langchain_core.tools import StructuredTool
    from langchain_openai import ChatOpenAI
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    def tool(schema: dict[str, Any]) -> StructuredTool:
        def run(**arguments: Any) -> str:
            return _result(name, schema["name"], arguments)

        return StructuredTool.from_function(
            func=run, name=schema["name"], description=schema["description"], args_schema=schema["parameters"]
        )

    tools = [tool(schema["function"]) for schema in _schemas(name)]
    model = ChatOpenAI(model=MODEL, base_url=f"{server.url}/v1", api_key=name, max_retries=0).bind_tools(tools)
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


def _opening(name: str) -> dict[str, Any]:
    scenario = SCENARIOS[name]
    return {
        "messages": [
            {"role": "system", "content": scenario.system, "id": f"{name}-1"},
            {"role": "user", "content": scenario.question, "id": f"{name}-2"},
        ]
    }


def langgraph_openinference(server: Server, name: str) -> Sequence[ReadableSpan]:
    """A LangGraph agent under OpenInference's LangChain instrumentation."""
    from openinference.instrumentation.langchain import LangChainInstrumentor

    provider, exporter = _provider(name)
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        _graph(server, name).invoke(_opening(name))
    finally:
        instrumentor.uninstrument()
    return exporter.get_finished_spans()


def _langsmith(server: Server) -> Any:
    from langsmith import Client

    return Client(api_url=server.url, api_key="demo", auto_batch_tracing=False, info={}, omit_traced_runtime_info=True)


def langgraph_langsmith(server: Server, name: str) -> list[dict[str, Any]]:
    """A LangGraph agent traced to LangSmith by LangChain's own tracer."""
    from langchain_core.tracers import LangChainTracer

    tracer = LangChainTracer(client=_langsmith(server), project_name="demo")
    _graph(server, name).invoke(_opening(name), config={"callbacks": [tracer]})
    tracer.wait_for_futures()
    return _as_runs(server)


def traceable_langsmith(server: Server, name: str) -> list[dict[str, Any]]:
    """Plain Python functions under LangSmith's `@traceable`, the OpenAI client under its wrapper."""
    from langsmith import traceable, tracing_context
    from langsmith.wrappers import wrap_openai

    client = wrap_openai(_client(server, name))

    def run_tool(tool: str, arguments: dict[str, Any]) -> str:
        @traceable(run_type="tool", name=tool)
        def run(**given: Any) -> str:
            return _result(name, tool, given)

        return str(run(**arguments))

    @traceable(run_type="chain", name="office-assistant")
    def assistant(question: str) -> str:
        return _chat(client, name, run_tool)[1] or ""

    with tracing_context(enabled=True, client=_langsmith(server), project_name="demo"):
        assistant(SCENARIOS[name].question)
    return _as_runs(server)


def _as_runs(server: Server) -> list[dict[str, Any]]:
    """What was posted as `POST /runs/query` gives it back: with a status, and the project's id."""
    kept = ("id", "name", "run_type", "start_time", "end_time", "extra", "error", "inputs", "outputs", "tags")
    ids = ("trace_id", "dotted_order", "parent_run_id")
    runs = []
    for run in sorted(server.runs, key=lambda run: str(run["dotted_order"])):
        row = {key: run.get(key) for key in (*kept, *ids)}
        runs.append({**row, "status": "error" if run.get("error") else "success"})
    server.runs.clear()
    return runs


def pydantic_ai_genai(server: Server, name: str, *, delegate: str | None = None) -> Sequence[ReadableSpan]:
    """A pydantic-ai agent, which writes plain OpenTelemetry GenAI spans; with `delegate`, its tool is another agent."""
    from pydantic_ai import Agent, Tool
    from pydantic_ai.capabilities import Instrumentation
    from pydantic_ai.models.instrumented import InstrumentationSettings
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider, exporter = _provider(name)
    settings = InstrumentationSettings(tracer_provider=provider)

    def agent(scenario: str, tools: Sequence[Any]) -> Agent:
        model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=f"{server.url}/v1", api_key=scenario))
        return Agent(
            model,
            name=scenario,
            system_prompt=SCENARIOS[scenario].system,
            tools=tools,
            capabilities=[Instrumentation(settings=settings)],
        )

    def tool(schema: dict[str, Any], run: Callable[..., Any]) -> Any:
        return Tool.from_schema(
            run, name=schema["name"], description=schema["description"], json_schema=schema["parameters"]
        )

    def tools_of(scenario: str) -> list[Any]:
        return [
            tool(schema["function"], SCENARIOS[scenario].tools[schema["function"]["name"]])
            for schema in _schemas(scenario)
        ]

    if delegate is None:
        tools = tools_of(name)
    else:
        below = agent(delegate, tools_of(delegate))

        async def ask(request: str) -> str:
            return str((await below.run(request)).output)

        tools = [tool(_schemas(name)[0]["function"], ask)]
    agent(name, tools).run_sync(SCENARIOS[name].question)
    return exporter.get_finished_spans()


def langfuse_sdk(server: Server, name: str) -> Sequence[ReadableSpan]:
    """The Langfuse SDK: `@observe` on agent and tools, and its drop-in OpenAI client, which patches the library."""
    import langfuse.openai  # noqa: F401 - importing it patches the OpenAI library
    from langfuse import Langfuse, observe

    exporter = InMemorySpanExporter()
    public_key = f"pk-lf-{name}"
    tracing = Langfuse(
        public_key=public_key,
        secret_key="sk-lf-demo",
        base_url=server.url,
        span_exporter=exporter,
        id_generator=SeededIds(name),
        tracer_provider=TracerProvider(id_generator=SeededIds(name), resource=Resource({"service.name": name})),
        environment="demo",
    )
    client = _client(server, name)

    def run_tool(tool: str, arguments: dict[str, Any]) -> str:
        @observe(name=tool, as_type="tool")
        def run(**given: Any) -> str:
            return _result(name, tool, given)

        try:
            return run(**arguments)
        except TimeoutError as error:
            return json.dumps({"error": str(error)})

    def answer(question: str) -> str:
        return _chat(client, name, run_tool)[1] or ""

    traced: Any = observe(name=name.replace("_", "-"), as_type="agent")(answer)
    traced(SCENARIOS[name].question, langfuse_public_key=public_key)
    tracing.flush()
    return exporter.get_finished_spans()
