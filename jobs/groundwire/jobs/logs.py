"""Logs: one line for each action, with ids; never trace text, never a key."""

import json
import logging
import sys
from datetime import UTC, datetime

__all__ = ["FIELDS", "configure_logs"]

FIELDS = ("action", "source", "evaluator", "run_id", "row_id", "trace_id", "reason", "n", "seconds")
"""What a line may say beside its message: a closed list, so that nothing else gets into a log by accident."""


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            **_fields(record),
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__  # its message may hold what it shouldn't
        return json.dumps(line, ensure_ascii=False)


class _Console(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        about = " ".join(f"{name}={value}" for name, value in _fields(record).items() if name != "action")
        action = getattr(record, "action", record.name.rpartition(".")[2])
        return f"{moment} {record.levelname.lower():7} {action}: {record.getMessage()}{'  ' + about if about else ''}"


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: getattr(record, name) for name in FIELDS if getattr(record, name, None) is not None}


def configure_logs(*, form: str, level: str) -> None:
    """Write groundwire's log lines to standard error, as `json` (an object a line) or for the `console`.

    Libraries log nothing: their messages can hold the bodies of requests, and what failed is told by our own lines.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Console())
    logging.getLogger().handlers[:] = [logging.NullHandler()]
    own = logging.getLogger("groundwire")
    own.handlers[:] = [handler]
    own.propagate = False
    own.setLevel(level.upper())
