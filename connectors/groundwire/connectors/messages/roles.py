"""Who speaks in a message, and how a message is told from other data."""

from typing import Any

from groundwire.connectors.messages.contents import label
from groundwire.scorer import Role

__all__ = ["BODY_KEYS", "FLAT_TYPES", "ROLES", "is_message", "role_of"]

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "systemmessage": "system",
    "systemmessagechunk": "system",
    "user": "user",
    "human": "user",
    "humanmessage": "user",
    "humanmessagechunk": "user",
    "customer": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "agent": "assistant",
    "tool": "tool",
    "function": "tool",
    "toolmessage": "tool",
    "toolmessagechunk": "tool",
    "functionmessage": "tool",
}
"""Role and class names of every producer, lower case, as canonical roles."""
FLAT_TYPES = {"human", "ai", "system", "tool", "function", "chat", "AIMessageChunk", "HumanMessageChunk", "developer"}
BODY_KEYS = frozenset(
    ("content", "parts", "contents", "tool_calls", "toolCalls", "function_call", "text", "reasoning_content")
)
"""Keys of which a message with a role has at least one."""
_ITEM_TYPES = {"function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning"}


def role_of(name: Any) -> tuple[Role, str | None]:
    """The canonical role, and the name under which an agent spoke where its role was its name."""
    if not isinstance(name, str) or not name:
        return "assistant", None
    role = ROLES.get(name.lower())
    return (role, None) if role is not None else ("assistant", label(name))


def is_message(value: Any) -> bool:
    """Whether a value is one message in some producer's form."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("role"), str):
        return not BODY_KEYS.isdisjoint(value)
    kind = value.get("type")
    if kind == "constructor" and isinstance(value.get("kwargs"), dict):
        return "content" in value["kwargs"]
    if isinstance(kind, str):
        if kind in FLAT_TYPES and ("content" in value or isinstance(value.get("data"), dict)):
            return True
        return kind in _ITEM_TYPES or (
            kind.endswith(("_call", "_call_output")) and ("id" in value or "call_id" in value)
        )
    return is_message(value.get("message")) or any(
        isinstance(key, str) and key.startswith(("message.role", "message.content")) for key in value
    )
