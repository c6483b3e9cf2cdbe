"""The bundled traces: real agents under real instrumentation, with invented businesses and a scripted model.

`tests/demo/make_traces.py` makes them. The format stands in a file's name (`phoenix`: OpenInference spans as Phoenix
exports them, `langfuse`: a page of observation rows, `langsmith`: runs). What each shows, and what is right at level
`trace`:

| file | shows | made with | right |
|---|---|---|---|
| `fabricated_tool_result.otlp.json` | a check that never ran, with its number | pydantic-ai, GenAI | 0.33 |
| `failed_tool_answered.langfuse.json` | a refund claimed over an error | OpenAI SDK, Langfuse | 0.50 |
| `german.otlp.json` | a wrong fee, in German | OpenAI SDK, Langfuse | 0.67 |
| `grounded.otlp.json` | every claim stands in the result | OpenAI SDK, OpenInference | 1.00 |
| `invented_number.phoenix.jsonl` | a percentage that no tool gave | LangGraph, OpenInference | 0.75 |
| `long_tool_result.phoenix.jsonl` | a fact amid 12,000 characters | LangGraph, OpenInference | 1.00 |
| `no_claims.conversation.json` | a courtesy, nothing to check | OpenAI SDK, untraced | unknown: no_claims |
| `no_evidence.langsmith.jsonl` | an answer over an empty result | OpenAI SDK, `@traceable` | unknown: no_evidence |
| `orchestrator.otlp.json` | an agent as another's tool | pydantic-ai, GenAI | invalid: orchestrator_subagent |
| `spanish.conversation.jsonl` | every claim stands, in Spanish | OpenAI SDK, untraced | 1.00 |
| `wrong_entity.langsmith.jsonl` | a hotel that isn't in the list | LangGraph, LangSmith | 0.80 |
"""
