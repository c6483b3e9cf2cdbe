"""Every shape of messages, with what it says written by hand."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.connectors import find_messages, read_messages
from groundwire.connectors.messages import loads
from groundwire.scorer import (
    BlobPart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)

ASKED = "Where is order 42?"
SAID = "It shipped yesterday."


def plain(messages: tuple[Message, ...]) -> list[Any]:
    """Messages as short tuples, so that the expected values can be written down."""
    out: list[Any] = []
    for message in messages:
        for part in message.parts:
            match part:
                case TextPart():
                    out.append((message.role, part.content))
                case ReasoningPart():
                    out.append((message.role, "reasoning", part.content))
                case ToolCallPart():
                    out.append((message.role, "call", part.id, part.name, part.arguments))
                case ToolCallResponsePart():
                    out.append((message.role, "result", part.id, part.name, part.response, part.failed))
                case UriPart():
                    out.append((message.role, "uri", part.uri, part.modality, part.mime_type))
                case BlobPart():
                    out.append((message.role, "blob", part.modality, part.mime_type, part.size))
    return out


USER = ("user", ASKED)
ANSWER = ("assistant", SAID)
CALL = ("assistant", "call", "c1", "lookup_order", {"id": 42})
RESULT = ("tool", "result", "c1", None, '{"status":"shipped"}', False)
NAMED_RESULT = ("tool", "result", "c1", "lookup_order", "shipped", False)

OPENAI = [
    {"role": "user", "content": ASKED},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "lookup_order", "arguments": '{"id":42}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"status":"shipped"}'},
]

SHAPES: dict[str, tuple[Any, list[Any]]] = {
    "openai chat": (OPENAI, [USER, CALL, RESULT]),
    "openai chat with tools": ({"tools": [{"type": "function"}], "messages": OPENAI}, [USER, CALL, RESULT]),
    "openai chat as JSON text": (json.dumps({"messages": OPENAI}), [USER, CALL, RESULT]),
    "openai chat as JSON text twice": (json.dumps(json.dumps(OPENAI)), [USER, CALL, RESULT]),
    "one message": ({"role": "user", "content": ASKED}, [USER]),
    "developer role": ([{"role": "developer", "content": "Be brief."}], [("system", "Be brief.")]),
    "legacy function call": (
        [
            {"role": "assistant", "function_call": {"name": "lookup_order", "arguments": '{"id":42}'}, "content": None},
            {"role": "function", "name": "lookup_order", "content": "shipped"},
        ],
        [
            ("assistant", "call", None, "lookup_order", {"id": 42}),
            ("tool", "result", None, "lookup_order", "shipped", False),
        ],
    ),
    "openai completion": (
        {"id": "x", "choices": [{"index": 0, "message": {"role": "assistant", "content": SAID}}], "usage": {}},
        [ANSWER],
    ),
    "text completion": ({"choices": [{"text": SAID, "finish_reason": "stop"}]}, [ANSWER]),
    "refusal": (
        {"role": "assistant", "content": None, "refusal": "I can't help with that."},
        [("assistant", "I can't help with that.")],
    ),
    "reasoning beside content": (
        {"role": "assistant", "reasoning_content": "Look it up.", "content": SAID},
        [("assistant", "reasoning", "Look it up."), ANSWER],
    ),
    "responses input": (
        {
            "model": "gpt-x",
            "instructions": "You help.",
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": ASKED}]},
                {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "Look it up."}]},
                {
                    "type": "function_call",
                    "id": "fc1",
                    "call_id": "c1",
                    "name": "lookup_order",
                    "arguments": '{"id":42}',
                },
                {"type": "function_call_output", "call_id": "c1", "output": '{"status":"shipped"}'},
            ],
        },
        [("system", "You help."), USER, ("assistant", "reasoning", "Look it up."), CALL, RESULT],
    ),
    "responses input as text": ({"model": "gpt-x", "input": ASKED}, [USER]),
    "responses output": (
        {
            "output": [
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": SAID, "annotations": []}],
                }
            ]
        },
        [ANSWER],
    ),
    "responses refusal": (
        {"output": [{"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}]},
        [("assistant", "No.")],
    ),
    "responses built-in tool": (
        [
            {
                "type": "file_search_call",
                "id": "fs1",
                "queries": ["order 42"],
                "results": [{"text": "Order 42 shipped."}],
            }
        ],
        [
            ("assistant", "call", "fs1", "file_search", ["order 42"]),
            ("tool", "result", "fs1", "file_search", "Order 42 shipped.", False),
        ],
    ),
    "responses mcp error": (
        [
            {
                "type": "mcp_call",
                "id": "m1",
                "name": "lookup_order",
                "arguments": '{"id":42}',
                "output": None,
                "error": "timed out",
            }
        ],
        [
            ("assistant", "call", "m1", "lookup_order", {"id": 42}),
            ("tool", "result", "m1", "lookup_order", "timed out", True),
        ],
    ),
    "responses image": (
        [{"type": "image_generation_call", "id": "i1", "result": "iVBORw0KGgo="}],
        [("assistant", "blob", "image", None, 12)],
    ),
    "langchain constructors": (
        {
            "messages": [
                [
                    {
                        "lc": 1,
                        "type": "constructor",
                        "id": ["langchain", "schema", "messages", "HumanMessage"],
                        "kwargs": {"content": ASKED, "type": "human"},
                    },
                    {
                        "lc": 1,
                        "type": "constructor",
                        "id": ["langchain", "schema", "messages", "AIMessage"],
                        "kwargs": {
                            "content": "",
                            "type": "ai",
                            "tool_calls": [
                                {"name": "lookup_order", "args": {"id": 42}, "id": "c1", "type": "tool_call"}
                            ],
                        },
                    },
                    {
                        "lc": 1,
                        "type": "constructor",
                        "id": ["langchain", "schema", "messages", "ToolMessage"],
                        "kwargs": {
                            "content": "shipped",
                            "type": "tool",
                            "name": "lookup_order",
                            "tool_call_id": "c1",
                            "status": "success",
                        },
                    },
                ]
            ]
        },
        [USER, CALL, NAMED_RESULT],
    ),
    "langchain result": (
        {
            "generations": [
                [
                    {
                        "text": SAID,
                        "type": "ChatGeneration",
                        "message": {
                            "lc": 1,
                            "type": "constructor",
                            "id": ["langchain", "schema", "messages", "AIMessage"],
                            "kwargs": {"content": SAID, "type": "ai", "tool_calls": []},
                        },
                    }
                ]
            ],
            "type": "LLMResult",
        },
        [ANSWER],
    ),
    "langchain text result": ({"generations": [[{"text": SAID, "generation_info": None}]]}, [ANSWER]),
    "langchain flat": (
        {
            "messages": [
                {"type": "human", "content": ASKED},
                {
                    "type": "ai",
                    "content": "",
                    "tool_calls": [{"name": "lookup_order", "args": {"id": 42}, "id": "c1", "type": "tool_call"}],
                },
                {
                    "type": "tool",
                    "name": "lookup_order",
                    "content": "shipped",
                    "tool_call_id": "c1",
                    "status": "error",
                },
            ]
        },
        [USER, CALL, ("tool", "result", "c1", "lookup_order", "shipped", True)],
    ),
    "langchain dicts": (
        [{"type": "human", "data": {"content": ASKED}}, {"type": "ai", "data": {"content": SAID}}],
        [USER, ANSWER],
    ),
    "langchain calls in kwargs": (
        [
            {
                "type": "ai",
                "content": "",
                "additional_kwargs": {
                    "tool_calls": [{"id": "c1", "function": {"name": "lookup_order", "arguments": '{"id": 42}'}}]
                },
            }
        ],
        [CALL],
    ),
    "langgraph pairs": ({"messages": [["user", ASKED], ["ai", SAID]]}, [USER, ANSWER]),
    "nested lists": ([[{"role": "user", "content": ASKED}]], [USER]),
    "tool definitions among messages": (
        [
            {"role": "user", "content": ASKED},
            {"role": "tool", "content": "shipped", "tool_call_id": "c1", "name": "lookup_order"},
            {"role": "tool", "content": {"type": "function", "function": {"name": "lookup_order", "parameters": {}}}},
            {"role": "tool", "content": '{"name": "lookup_order", "input_schema": {"type": "object"}}'},
        ],
        [USER, NAMED_RESULT],
    ),
    "genai parts": (
        [
            {"role": "system", "parts": [{"type": "text", "content": "You help."}]},
            {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
            {
                "role": "assistant",
                "parts": [
                    {"type": "reasoning", "content": "Look it up."},
                    {"type": "tool_call", "id": "c1", "name": "lookup_order", "arguments": {"id": 42}},
                ],
            },
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "shipped"}]},
            {
                "role": "user",
                "parts": [{"type": "tool_call_response", "id": "c2", "name": "weigh", "result": {"kg": 2}}],
            },
        ],
        [
            ("system", "You help."),
            USER,
            ("assistant", "reasoning", "Look it up."),
            CALL,
            ("tool", "result", "c1", None, "shipped", False),
            ("user", "result", "c2", "weigh", {"kg": 2}, False),
        ],
    ),
    "openinference flat": (
        {
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": ASKED,
            "llm.input_messages.1.message.role": "assistant",
            "llm.input_messages.1.message.tool_calls.0.tool_call.id": "c1",
            "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "lookup_order",
            "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments": '{"id": 42}',
            "llm.input_messages.2.message.role": "tool",
            "llm.input_messages.2.message.tool_call_id": "c1",
            "llm.input_messages.2.message.content": '{"status":"shipped"}',
        },
        [USER, CALL, RESULT],
    ),
    "openinference contents": (
        [
            {
                "message.role": "user",
                "message.contents": [
                    {"message_content.type": "text", "message_content.text": ASKED},
                    {
                        "message_content.type": "image",
                        "message_content.image.image.url": "data:image/png;base64,AAAA",
                    },
                ],
            }
        ],
        [USER, ("user", "blob", "image", "image/png", 4)],
    ),
    "ai sdk 5": (
        [
            {"role": "user", "content": [{"type": "text", "text": ASKED}]},
            {
                "role": "assistant",
                "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "lookup_order", "input": {"id": 42}}],
            },
            {
                "role": "tool",
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "c1",
                        "toolName": "lookup_order",
                        "output": {"type": "text", "value": "shipped"},
                    }
                ],
            },
            {
                "role": "tool",
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "c2",
                        "toolName": "weigh",
                        "output": {"type": "error-text", "value": "scale broken"},
                    }
                ],
            },
        ],
        [USER, CALL, NAMED_RESULT, ("tool", "result", "c2", "weigh", "scale broken", True)],
    ),
    "ai sdk 4": (
        [
            {
                "role": "assistant",
                "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "lookup_order", "args": {"id": 42}}],
            },
            {
                "role": "tool",
                "content": [
                    {"type": "tool-result", "toolCallId": "c1", "toolName": "lookup_order", "result": "shipped"}
                ],
            },
        ],
        [CALL, NAMED_RESULT],
    ),
    "ai sdk tool_calls as JSON text": (
        {
            "role": "assistant",
            "content": "One moment.",
            "tool_calls": '[{"toolCallId":"c1","toolName":"lookup_order","input":"{\\"id\\":42}"}]',
        },
        [("assistant", "One moment."), CALL],
    ),
    "ai sdk user interface": (
        [
            {
                "role": "assistant",
                "parts": [
                    {"type": "step-start"},
                    {
                        "type": "tool-lookup_order",
                        "toolCallId": "c1",
                        "state": "output-available",
                        "input": {"id": 42},
                        "output": "shipped",
                    },
                    {"type": "text", "text": SAID},
                ],
            }
        ],
        [CALL, ("assistant", "result", "c1", "lookup_order", "shipped", False), ANSWER],
    ),
    "ai sdk prompt": (
        {"system": "You help.", "messages": [{"role": "user", "content": ASKED}]},
        [("system", "You help."), USER],
    ),
    "anthropic": (
        {
            "system": [{"type": "text", "text": "You help."}],
            "messages": [
                {"role": "user", "content": ASKED},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Look it up.", "signature": "s"},
                        {"type": "tool_use", "id": "c1", "name": "lookup_order", "input": {"id": 42}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "c1",
                            "is_error": True,
                            "content": [{"type": "text", "text": "no such order"}],
                        }
                    ],
                },
            ],
        },
        [
            ("system", "You help."),
            USER,
            ("assistant", "reasoning", "Look it up."),
            CALL,
            ("user", "result", "c1", None, "no such order", True),
        ],
    ),
    "anthropic reply": (
        {"id": "m", "type": "message", "role": "assistant", "content": [{"type": "text", "text": SAID}]},
        [ANSWER],
    ),
    "anthropic media": (
        [
            {
                "role": "user",
                "content": [
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/jpeg", "data": "QUJDRA=="},
                    },
                    {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
                    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Fees: $5."}},
                ],
            }
        ],
        [
            ("user", "blob", "image", "image/jpeg", 8),
            ("user", "uri", "https://example.com/a.pdf", "document", None),
            ("user", "Fees: $5."),
        ],
    ),
    "gemini": (
        {
            "systemInstruction": {"parts": [{"text": "You help."}]},
            "contents": [
                {"role": "user", "parts": [{"text": ASKED}]},
                {"role": "model", "parts": [{"functionCall": {"name": "lookup_order", "args": {"id": 42}}}]},
                {
                    "role": "user",
                    "parts": [{"functionResponse": {"name": "lookup_order", "response": {"status": "shipped"}}}],
                },
                {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
            ],
        },
        [
            ("system", "You help."),
            USER,
            ("assistant", "call", None, "lookup_order", {"id": 42}),
            ("user", "result", None, "lookup_order", {"status": "shipped"}, False),
            ("user", "blob", "image", "image/png", 4),
        ],
    ),
    "gemini reply": (
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "Look.", "thought": True}, {"text": SAID}]}}]},
        [("assistant", "reasoning", "Look."), ANSWER],
    ),
    "bedrock": (
        {
            "messages": [
                {"role": "user", "content": [{"text": ASKED}]},
                {
                    "role": "assistant",
                    "content": [{"toolUse": {"toolUseId": "c1", "name": "lookup_order", "input": {"id": 42}}}],
                },
                {
                    "role": "user",
                    "content": [{"toolResult": {"toolUseId": "c1", "content": [{"json": {"status": "shipped"}}]}}],
                },
            ]
        },
        [USER, CALL, ("user", "result", "c1", None, {"status": "shipped"}, False)],
    ),
    "bedrock reply": ({"output": {"message": {"role": "assistant", "content": [{"text": SAID}]}}}, [ANSWER]),
    "content parts in order": (
        [
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "Where is"}, {"type": "text", "text": "order 42?"}],
            }
        ],
        [("user", "Where is"), ("user", "order 42?")],
    ),
    "a structured answer": (
        {"role": "assistant", "content": {"summary": "S", "found": [1, 2]}},
        [("assistant", '{"summary":"S","found":[1,2]}')],
    ),
    "a tool's list of records": (
        [{"role": "tool", "tool_call_id": "c1", "content": [{"type": "file", "name": "a.txt"}]}],
        [("tool", "result", "c1", None, [{"type": "file", "name": "a.txt"}], False)],
    ),
    "an agent's name as its role": ([{"role": "WebSurfer", "content": SAID}], [ANSWER]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_says_what_it_says(shape: str) -> None:
    value, expected = SHAPES[shape]
    assert plain(find_messages(value)) == expected or shape == "responses input as text"
    assert plain(read_messages(value, role="user")) == expected


def test_bare_text_is_a_message_of_the_role_asked_for() -> None:
    assert plain(read_messages(ASKED, role="user")) == [USER]
    assert plain(read_messages('"It shipped yesterday."', role="assistant")) == [ANSWER]
    assert plain(read_messages("42", role="assistant")) == [("assistant", "42")]
    assert find_messages(ASKED) == ()


def test_nothing_is_no_message() -> None:
    empties: list[Any] = [None, "", [], {}, "[]"]
    for nothing in empties:
        assert read_messages(nothing, role="assistant") == ()


def test_an_object_that_is_no_message_is_a_structured_answer_to_a_model_call_and_data_elsewhere() -> None:
    value = {"total": 3, "currency": "EUR"}
    assert plain(read_messages(value, role="assistant")) == [("assistant", '{"total":3,"currency":"EUR"}')]
    assert plain(read_messages('{"total": 3}', role="assistant")) == [("assistant", '{"total": 3}')]
    assert find_messages(value) == ()


def test_a_list_of_content_parts_is_one_message() -> None:
    assert plain(read_messages('[{"type": "text", "text": "One pixel."}]', role="assistant")) == [
        ("assistant", "One pixel.")
    ]


def test_content_that_is_a_list_of_parts_in_json_text_is_unpacked() -> None:
    value = [{"role": "user", "content": '[{"type": "text", "text": "Where?"}]'}]
    assert plain(find_messages(value)) == [("user", "Where?")]


def test_an_agents_name_is_kept() -> None:
    message = find_messages([{"role": "Orchestrator (thought)", "content": "Plan."}])[0]
    assert (message.role, message.name) == ("assistant", "Orchestrator (thought)")


def test_media_tokens_and_data_uris_become_placeholders() -> None:
    token = "@@@langfuseMedia:type=image/png|id=a3-kNP|source=base64_data_uri@@@"
    value = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is in this image?"},
                {"type": "image_url", "image_url": {"url": token}},
                {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}},
                {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
            ],
        },
        {"role": "user", "content": f"Look: ![x](data:image/png;base64,iVBORw0KGgo=) and {token}."},
    ]
    assert plain(find_messages(value)) == [
        ("user", "What is in this image?"),
        ("user", "uri", "langfuse:media/a3-kNP", "image", "image/png"),
        ("user", "uri", "https://example.com/cat.png", "image", None),
        ("user", "blob", "audio", None, 8),
        ("user", "Look: ![x]([image/png]) and [image/png]."),
        ("user", "uri", "langfuse:media/a3-kNP", "image", "image/png"),
        ("user", "blob", "image", "image/png", None),
    ]


def test_a_tool_result_with_an_image_keeps_its_words_and_names_the_image() -> None:
    value = [
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": [
                {"type": "text", "text": "Two cats."},
                {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
            ],
        }
    ]
    assert plain(find_messages(value)) == [
        ("tool", "result", "c1", None, "Two cats.\n[image/png]", False),
        ("tool", "blob", "image", "image/png", 12),
    ]


def test_parts_that_nothing_reads_are_named() -> None:
    message = find_messages([{"role": "user", "content": [{"type": "hologram"}, {"type": "text", "text": "Hi"}]}])[0]
    assert message.text == "Hi"
    assert message.attributes == {"groundwire.unread_parts": ["hologram"]}


def test_a_call_is_told_once_where_it_stands_in_content_and_beside_it() -> None:
    value = {
        "type": "ai",
        "content": [{"type": "tool_use", "id": "c1", "name": "lookup_order", "input": {"id": 42}}],
        "tool_calls": [{"name": "lookup_order", "args": {"id": 42}, "id": "c1", "type": "tool_call"}],
    }
    assert plain(find_messages(value)) == [CALL]


def test_arguments_are_no_results() -> None:
    messages = find_messages(OPENAI[:2])
    assert [part.type for message in messages for part in message.parts] == ["text", "tool_call"]


def test_lone_surrogates_and_numbers_that_are_none_are_cleaned_where_json_enters() -> None:
    assert loads('{"a": "x\\ud800y", "b": NaN, "c": 1e999, "d": -Infinity, "e": "\\ud83d\\ude42"}') == {
        "a": "x�y",
        "b": None,
        "c": None,
        "d": None,
        "e": "🙂",
    }
    (message,) = read_messages([{"role": "user", "content": "x\ud800y"}], role="user")
    assert message.text == "x�y"


def test_json_that_is_nested_too_deep_is_an_error_and_inside_a_message_stays_text() -> None:
    for depth in (150, 100_000):
        with pytest.raises(ValueError, match="nested too deep"):
            loads("[" * depth + "]" * depth)
    deep = "[" * 150 + "]" * 150
    assert plain(read_messages(deep, role="user")) == [("user", deep)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
WORDS = st.sampled_from(
    ["role", "content", "parts", "type", "text", "tool_calls", "function", "name", "arguments", "messages", "message",
     "kwargs", "id", "lc", "data", "input", "output", "choices", "generations", "candidates", "contents", "image_url",
     "source", "url", "functionCall", "functionResponse", "toolResult", "tool_call_id", "message.role", "a.0.b",
     "toolInvocation", "reasoning", "additional_kwargs", "function_call", "status", "summary", "0", "prompt", "prompts"]
)  # fmt: skip
TYPES = st.sampled_from(
    ["user", "assistant", "tool", "text", "image", "tool_use", "tool_result", "tool-result", "function_call", "human",
     "function_call_output", "constructor", "reasoning", "document", "file", "x_call", "tool-invocation", "message",
     "inlineData", "ai", "chat", "refusal", "tool-x", "dynamic-tool", "AIMessage", "image_generation_call"]
)  # fmt: skip
BYTES = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo"
MESSAGE_LIKE = st.recursive(
    TYPES | st.none() | st.booleans() | st.integers() | st.just(f"see data:image/png;base64,{BYTES}= there"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=25,
)


@given(JSON)
def test_no_json_value_raises(value: Any) -> None:
    read_messages(value, role="assistant")
    find_messages(value)


@settings(max_examples=150)
@given(MESSAGE_LIKE, st.booleans())
def test_whatever_is_read_holds_no_bytes_of_media(value: Any, packed: bool) -> None:
    found = read_messages(json.dumps(value) if packed else value, role="user")
    assert BYTES not in "".join(message.model_dump_json() for message in found)
    assert BYTES not in "".join(message.model_dump_json() for message in find_messages(value))
