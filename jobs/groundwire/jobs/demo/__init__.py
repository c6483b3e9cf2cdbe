"""The bundled traces: real agents under real instrumentation, with invented businesses and a scripted model.

`tests/demo/make_traces.py` makes them. What each shows, in which format, and what comes of it at level `trace` with
the offline judge:

| file | shows | made with | format |
|---|---|---|---|
| `grounded.otlp.json` | every claim stands in the tool result | OpenAI SDK, OpenInference | OTLP/JSON |
| `invented_number.phoenix.jsonl` | a comparison that no tool gave: 18 % | LangGraph, OpenInference | Phoenix span export |
| `wrong_entity.langsmith.jsonl` | a hotel that isn't in the list | LangGraph, LangSmith | LangSmith runs |
| `fabricated_tool_result.otlp.json` | a check that never ran, with its reference number | pydantic-ai, GenAI | OTLP/JSON |
| `failed_tool_answered.langfuse.json` | a refund claimed over an error | OpenAI SDK, Langfuse | Langfuse v2 observations |
| `no_claims.conversation.json` | a courtesy and nothing to check | OpenAI SDK, untraced | conversation |
| `no_evidence.langsmith.jsonl` | an answer over an empty tool result | OpenAI SDK, `@traceable` | LangSmith runs |
| `orchestrator.otlp.json` | an agent whose tool is another agent | pydantic-ai, GenAI | OTLP/JSON |
| `german.otlp.json` | a wrong fee, in German | OpenAI SDK, Langfuse | OTLP/JSON |
| `spanish.conversation.jsonl` | every claim stands in the tool result, in Spanish | OpenAI SDK, untraced | conversation |
| `long_tool_result.phoenix.jsonl` | the fact in the middle of 12,000 characters | LangGraph, OpenInference | Phoenix span export |
"""
