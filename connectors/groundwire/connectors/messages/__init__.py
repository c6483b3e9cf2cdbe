"""Every shape in which people's tracing stores messages, read into the OpenTelemetry GenAI form by one reader."""

from groundwire.connectors.messages.decoding import as_json, clean_text, decode_at, decoded, loads, without_media
from groundwire.connectors.messages.flattened import unflattened
from groundwire.connectors.messages.reader import find_messages, read_messages
from groundwire.connectors.messages.roles import is_message

__all__ = [
    "as_json",
    "clean_text",
    "decode_at",
    "decoded",
    "find_messages",
    "is_message",
    "loads",
    "read_messages",
    "unflattened",
    "without_media",
]
