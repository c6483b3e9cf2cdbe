"""A LangSmith on loopback for tests: it answers as the documentation and the SDK say the service does.

Not the real thing: no answer of a live LangSmith was ever recorded. What is documented is a rule here; what isn't is a
knob (`LangsmithApp`'s fields), and tests turn it both ways. Request bodies are held against the SDK's own types.
"""

import bisect
import hashlib
import json
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

from langsmith.schemas import FeedbackConfig, FeedbackCreate
from langsmith.types import (
    RunQueryV2Params,
    RunSchemaWithAnnotationQueueInfo,
    RunSelectField,
    ThreadListTracesParams,
    TraceListRunsParams,
)
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from tests.connectors.langsmith_filters import BadFilterError, matches

API_KEY = "lsv2_pt_loopback_key_0000"
PROJECT = "11111111-2222-4333-8444-555555555555"
V1_QUERY = {
    "session", "id", "trace", "parent_run", "run_type", "reference_example", "start_time", "end_time", "error", "query",
    "filter", "trace_filter", "tree_filter", "is_root", "select", "limit", "cursor", "order", "data_source_type",
}  # fmt: skip
V1_SELECT = set(RunSchemaWithAnnotationQueueInfo.model_fields)
V2_SELECT = set(get_args(RunSelectField))
ALWAYS = {"zz_new_field"}
"""Fields that nobody has heard of come whatever is selected."""
LIMITS = {"query": (15, 10.0), "run": (30, 60.0), "feedback": (2000, 10.0), "other": (1000, 10.0)}
Row = dict[str, Any]


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parsed(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


class RefusedError(Exception):
    def __init__(self, status: int, body: Any) -> None:
        super().__init__()
        self.status, self.body = status, body


@dataclass(kw_only=True)
class LangsmithApp:
    """The server, its one workspace and its projects."""

    version: str | None = "0.18.2"
    flags: dict[str, Any] = field(default_factory=lambda: {"ch_query_enabled": True, "sdb_query_enabled": True})
    v1: bool = True
    """Whether the older run queries are there."""
    v2: bool = True
    v1_sessions: bool = True
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic: Callable[[], float] = time.monotonic
    limits: dict[str, tuple[int, float]] = field(default_factory=dict)
    retry_after: bool = True
    """Whether a 429 says how long to wait."""
    v2_shares: bool = True
    """Whether the newer queries count as the older do."""
    order: Literal["asc", "desc", "shuffled"] = "desc"
    """In which order runs are listed."""
    exclusive: bool = False
    """Whether the bounds of start times leave their own moments out."""
    most: int = 1000
    """Runs in a page of the newer queries."""
    previews: bool = True
    s3_selectable: bool = True
    """Whether the older queries may be asked for `inputs_s3_urls`."""
    most_bytes: int = 50_000_000
    """Of an answer."""
    post_again: Literal["upsert", "conflict", "double"] = "conflict"
    """What a second POST of a feedback with one id does."""
    workspace: str | None = None
    """Where set, the key spans several and needs this one's id."""
    forbidden: bool = False
    """The key belongs to another region."""
    configs: Literal["made", "exists", "forbidden", "none"] = "made"
    time_zone: bool = True
    """Whether times carry a `Z`."""
    projects: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {PROJECT: {"name": "support", "trace_tier": "shortlived"}}
    )
    calls: Counter[str] = field(default_factory=Counter)
    sent: list[tuple[str, str, Any]] = field(default_factory=list)
    """Method, path and body of every write."""
    feedback: list[dict[str, Any]] = field(default_factory=list)
    feedback_configs: dict[str, Any] = field(default_factory=dict)
    payloads: dict[str, bytes] = field(default_factory=dict)
    redirect_payloads_to: str | None = None

    def __post_init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._order: list[tuple[datetime, str]] = []
        self._by_trace: dict[str, list[str]] = {}
        self._failures: list[tuple[int, dict[str, str], Any]] = []
        self._windows: dict[str, deque[float]] = {}

    # ---- what applications and tests do ----

    def put(self, run: Mapping[str, Any], *, visible_in: float = 0.0) -> None:
        """A run arrives, or the rest of it; one with a known id is completed."""
        known = self._rows.get(run["id"])
        row: Row = {
            "session_id": PROJECT, "parent_run_id": None, "run_type": "chain", "name": "", "end_time": None,
            "error": None, "inputs": {}, "outputs": None, "extra": {}, "tags": [], "visible": self.clock(),
            **(known or {}),
            **{key: value for key, value in run.items() if value is not None or known is None or key not in known},
        }  # fmt: skip
        row["trace_id"] = row.get("trace_id") or row["id"]
        done = "error" if row["error"] else "success" if row["end_time"] else "pending"
        row["status"] = run.get("status") or done
        if visible_in:
            row["visible"] = self.clock() + timedelta(seconds=visible_in)
        if known is None:
            bisect.insort(self._order, (parsed(row["start_time"]), row["id"]))
            self._by_trace.setdefault(row["trace_id"], []).append(row["id"])
        elif known["start_time"] != row["start_time"]:
            self._order.remove((parsed(known["start_time"]), row["id"]))
            bisect.insort(self._order, (parsed(row["start_time"]), row["id"]))
        self._rows[row["id"]] = row

    def fail(self, status: int, *, headers: Mapping[str, str] | None = None, body: Any = None, times: int = 1) -> None:
        """Answer the next calls so."""
        self._failures += [(status, dict(headers or {}), body)] * times

    def shown(self) -> list[dict[str, Any]]:
        """Every feedback that has a score or a value."""
        held = [one for one in self.feedback if one.get("score") is not None or one.get("value") is not None]
        return sorted(held, key=lambda one: (one["run_id"], one["key"]))

    @property
    def runs(self) -> list[Row]:
        return list(self._rows.values())

    # ---- the server ----

    def starlette(self) -> Starlette:
        def route(path: str, handle: Callable[[Request], Response], method: str, bucket: str | None) -> list[Route]:
            async def answer(request: Request) -> Response:
                return await self._answer(request, handle, bucket)

            places = [path] if path.startswith("/api/") else [path, f"/api/v1{path}"]
            return [Route(place, answer, methods=[method]) for place in places]

        table: list[tuple[str, Callable[[Request], Response], str, str | None]] = [
            ("/info", self._info, "GET", None),
            ("/sessions", self._sessions, "GET", "other"),
            ("/sessions/{id}", self._session, "GET", "other"),
            ("/api/v2/sessions", self._sessions_v2, "GET", "other"),
            ("/runs/query", self._query_v1, "POST", "query"),
            ("/api/v2/runs/query", self._query_v2, "POST", "query" if self.v2_shares else "other"),
            ("/api/v2/traces/{id}/runs", self._trace_v2, "GET", "other"),
            ("/api/v2/threads/{id}/traces", self._thread_v2, "GET", "other"),
            ("/feedback", self._list_feedback, "GET", "other"),
            ("/feedback", self._post_feedback, "POST", "feedback"),
            ("/feedback/{id}", self._patch_feedback, "PATCH", "feedback"),
            ("/feedback-configs", self._post_config, "POST", "other"),
            ("/runs/batch", self._batch, "POST", "other"),
            ("/payloads/{name}", self._payload, "GET", None),
        ]
        return Starlette(
            routes=[one for entry in table for one in route(*entry)],
            exception_handlers={404: lambda *_: JSONResponse({"detail": "Not Found"}, status_code=404)},
        )

    async def _answer(self, request: Request, handle: Callable[[Request], Response], bucket: str | None) -> Response:
        path = request.url.path.removeprefix("/api/v1")
        if not path.startswith(("/payloads", "/runs/batch")):
            self.calls[f"{request.method} {'/'.join(path.split('/')[: 5 if path.startswith('/api') else 3])}"] += 1
        if self._failures:
            status, headers, body = self._failures.pop(0)
            return JSONResponse(body or {"detail": f"failure {status}"}, status_code=status, headers=headers)
        try:
            if bucket is not None:
                self._admit(request, bucket)
            content = await request.body()
            request.state.json = json.loads(content) if content else None
            if request.method in ("POST", "PATCH"):
                self.sent.append((request.method, path, request.state.json))
            answer = handle(request)
        except RefusedError as refused:
            self.calls["429"] += refused.status == 429
            headers = {"Retry-After": "7"} if refused.status == 429 and self.retry_after else {}
            return JSONResponse(refused.body, status_code=refused.status, headers=headers)
        if len(answer.body) > self.most_bytes:
            return JSONResponse({"detail": "Response too large"}, status_code=413)
        return answer

    def _admit(self, request: Request, bucket: str) -> None:
        key = request.headers.get("x-api-key")
        if not key:
            raise RefusedError(401, {"error": "Unauthorized"})
        if key != API_KEY or self.forbidden:
            raise RefusedError(403, {"error": "Forbidden"})
        if self.workspace is not None and request.headers.get("x-tenant-id") != self.workspace:
            raise RefusedError(403, {"error": "org_scoped_key_requires_workspace"})
        allowed, per = self.limits.get(bucket, LIMITS[bucket])
        window = self._windows.setdefault(bucket, deque())
        now = self.monotonic()
        while window and window[0] <= now - per:
            window.popleft()
        if len(window) >= allowed:
            raise RefusedError(429, {"detail": "Rate limit exceeded"})
        window.append(now)

    def _info(self, _: Request) -> Response:
        ingest = {
            "use_multipart_endpoint": False, "size_limit": 100, "size_limit_bytes": 20_971_520,
            "scale_up_qsize_trigger": 1000, "scale_up_nthreads_limit": 16, "scale_down_nempty_trigger": 4,
        }  # fmt: skip
        body = {"version": self.version, "instance_flags": self.flags, "batch_ingest_config": ingest}
        return JSONResponse(body)

    # ---- projects ----

    def _sessions(self, request: Request) -> Response:
        if not self.v1_sessions:
            raise RefusedError(404, {"detail": "Not Found"})
        name = request.query_params.get("name")
        found = [self._as_project(key) for key, held in self.projects.items() if name in (None, held["name"])]
        return JSONResponse(found[: int(request.query_params.get("limit", 100))])

    def _session(self, request: Request) -> Response:
        if not self.v1_sessions or request.path_params["id"] not in self.projects:
            raise RefusedError(404, {"detail": "Resource not found"})
        return JSONResponse(self._as_project(request.path_params["id"]))

    def _sessions_v2(self, request: Request) -> Response:
        name, wanted = request.query_params.get("name"), request.query_params.getlist("id")
        found = [
            self._as_project(key) | {"type": "PROJECT", "trace_tier": "SHORT_LIVED"}
            for key, held in self.projects.items()
            if name in (None, held["name"]) and (not wanted or key in wanted)
        ]
        return JSONResponse({"items": found, "next_cursor": None})

    def _as_project(self, key: str) -> dict[str, Any]:
        return {"id": key, "tenant_id": "t", "start_time": "2026-01-01T00:00:00Z", **self.projects[key]}

    # ---- runs ----

    def _query_v2(self, request: Request) -> Response:
        body = request.state.json
        if not self.v2:
            raise RefusedError(404, {"detail": "Not Found"})
        _known(body, set(RunQueryV2Params.__annotations__))
        _known(dict.fromkeys(body.get("selects", [])), V2_SELECT)
        size = body.get("page_size", 100)
        if not 1 <= size <= 1000:
            raise RefusedError(422, {"detail": [{"loc": ["page_size"], "msg": "must be between 1 and 1000"}]})
        if size > self.most:
            raise RefusedError(400, {"detail": f"Limit exceeds maximum allowed value of {self.most}"})
        low = body.get("min_start_time") or iso(self.clock() - timedelta(days=1))
        high = body.get("max_start_time") or iso(self.clock())
        found = self._between(parsed(low), parsed(high))
        found = [row for row in found if row["session_id"] in body["project_ids"]]
        found = self._filtered(found, body)
        some, cursor = self._paged(found, size, body.get("cursor"))
        return JSONResponse(
            {"items": [self._v2(row, body.get("selects", ["ID"])) for row in some], "next_cursor": cursor}
        )

    def _query_v1(self, request: Request) -> Response:
        body = request.state.json
        if not self.v1:
            raise RefusedError(410, {"detail": "Gone: use /api/v2/runs/query"})
        _known(body, V1_QUERY)
        refusing = {"inputs_s3_urls", "outputs_s3_urls"} if not self.s3_selectable else set()
        _known(dict.fromkeys(body.get("select", [])), V1_SELECT - refusing)
        size = body.get("limit", 100)
        if size > 100:
            raise RefusedError(400, {"detail": "Limit exceeds maximum allowed value of 100"})
        if "trace" in body:
            found = [self._rows[key] for key in self._by_trace.get(body["trace"], []) if self._is_visible(key)]
        else:
            low = parsed(body["start_time"]) if "start_time" in body else datetime(2000, 1, 1, tzinfo=UTC)
            found = self._between(low, datetime(2100, 1, 1, tzinfo=UTC))
        found = [row for row in found if row["session_id"] in body["session"]]
        found = self._filtered(found, body)
        some, cursor = self._paged(found, size, body.get("cursor"))
        rows = [self._v1(row, body.get("select")) for row in some]
        return JSONResponse({"runs": rows, "cursors": {"next": cursor, "prev": None}})

    def _trace_v2(self, request: Request) -> Response:
        params = request.query_params
        if not self.v2:
            raise RefusedError(404, {"detail": "Not Found"})
        _known(dict(params), set(TraceListRunsParams.__annotations__))
        _known(dict.fromkeys(params.getlist("selects")), V2_SELECT)
        if ("min_start_time" in params) != ("max_start_time" in params):
            raise RefusedError(422, {"detail": "min_start_time and max_start_time must be given together"})
        rows = [self._rows[key] for key in self._by_trace.get(request.path_params["id"], []) if self._is_visible(key)]
        rows = [row for row in rows if row["session_id"] == params["project_id"]]
        if "min_start_time" in params:
            low, high = parsed(params["min_start_time"]), parsed(params["max_start_time"])
            rows = [row for row in rows if low <= parsed(row["start_time"]) <= high]
        if not rows:
            raise RefusedError(404, {"detail": "Trace not found"})
        rows.sort(key=lambda row: row["start_time"])
        return JSONResponse({"items": [self._v2(row, params.getlist("selects")) for row in rows]})

    def _thread_v2(self, request: Request) -> Response:
        params = request.query_params
        if not self.v2:
            raise RefusedError(404, {"detail": "Not Found"})
        _known(dict(params), set(ThreadListTracesParams.__annotations__))
        rows = [
            row
            for row in self._rows.values()
            if row["parent_run_id"] is None and _thread(row) == request.path_params["id"]
        ]
        some, cursor = self._paged(rows, int(params.get("page_size", 20)), params.get("cursor"))
        return JSONResponse({"items": [{"trace_id": row["trace_id"]} for row in some], "next_cursor": cursor})

    def _between(self, low: datetime, high: datetime) -> list[Row]:
        first = bisect.bisect_left(self._order, (low, ""))
        last = bisect.bisect_right(self._order, (high, "~"))
        found = [self._rows[key] for _, key in self._order[first:last] if self._is_visible(key)]
        if self.exclusive:
            found = [row for row in found if low < parsed(row["start_time"]) < high]
        return found

    def _is_visible(self, key: str) -> bool:
        return bool(self._rows[key]["visible"] <= self.clock())

    def _filtered(self, rows: list[Row], body: Mapping[str, Any]) -> list[Row]:
        def root(row: Row) -> Row:
            return self._rows.get(row["trace_id"], {})

        def tree(row: Row) -> list[Row]:
            return [self._rows[key] for key in self._by_trace[row["trace_id"]]]

        if body.get("is_root") is not None:
            rows = [row for row in rows if (row["parent_run_id"] is None) == body["is_root"]]
        try:
            if one := body.get("filter"):
                rows = [row for row in rows if matches(one, row)]
            if one := body.get("trace_filter"):
                rows = [row for row in rows if matches(one, root(row))]
            if one := body.get("tree_filter"):
                rows = [row for row in rows if any(matches(one, other) for other in tree(row))]
        except BadFilterError as bad:
            raise RefusedError(400, {"detail": f"Invalid filter: {bad}"}) from None
        return rows

    def _paged(self, rows: list[Row], size: int, cursor: str | None) -> tuple[list[Row], str | None]:
        if self.order == "desc":
            rows.reverse()
        elif self.order == "shuffled":
            rows = sorted(rows, key=lambda row: hashlib.sha256(row["id"].encode()).digest())
        at = int(cursor.removeprefix("c")) if cursor else 0
        return rows[at : at + size], f"c{at + size}" if at + size < len(rows) else None

    def _parents(self, row: Row) -> list[str]:
        parents: list[str] = []
        at = row["parent_run_id"]
        while at is not None and at not in parents:
            parents.insert(0, at)
            at = self._rows.get(at, {}).get("parent_run_id")
        return parents

    def _time(self, text: str | None) -> str | None:
        return text if text is None or self.time_zone else text.removesuffix("Z")

    def _v1(self, row: Row, select: list[str] | None) -> Row:
        chosen = set(select or V1_SELECT) | ALWAYS
        full = row | {"parent_run_ids": self._parents(row), "thread_id": _thread(row)}
        full |= {"start_time": self._time(row["start_time"]), "end_time": self._time(row["end_time"])}
        if self.previews:
            full["outputs_preview"] = json.dumps(row["outputs"])[:500]
        if row.get("total_cost") is not None:
            full["total_cost"] = str(row["total_cost"])
        return {key: value for key, value in full.items() if key in chosen}

    def _v2(self, row: Row, selects: list[str]) -> Row:
        full = {key.upper(): value for key, value in row.items()} | {
            "PROJECT_ID": row["session_id"],
            "RUN_TYPE": row["run_type"].upper(),
            "STATUS": row["status"].upper(),
            "START_TIME": self._time(row["start_time"]),
            "END_TIME": self._time(row["end_time"]),
            "PARENT_RUN_IDS": self._parents(row),
            "IS_ROOT": row["parent_run_id"] is None,
            "METADATA": (row["extra"] or {}).get("metadata") or {},
            "THREAD_ID": _thread(row),
            "OUTPUTS_PREVIEW": json.dumps(row["outputs"])[:500] if self.previews else None,
        }
        chosen = {name.lower(): full.get(name) for name in selects}
        return chosen | {key: row[key] for key in ALWAYS if key in row}

    # ---- feedback ----

    def _post_feedback(self, request: Request) -> Response:
        body = request.state.json
        _known(body, set(FeedbackCreate.model_fields))
        try:
            FeedbackCreate.model_validate(body | {"trace_id": body.get("trace_id"), "run_id": body.get("run_id")})
        except ValidationError as error:
            raise RefusedError(
                422, {"detail": [{"loc": list(one["loc"]), "msg": one["msg"]} for one in error.errors()]}
            ) from None
        if not body.get("session_id"):
            raise RefusedError(501, {"detail": "session_id is required"})
        score = body.get("score")
        if isinstance(score, float) and round(score, 4) != score:
            raise RefusedError(422, {"detail": "score has more than 4 decimal places"})
        if isinstance(body.get("value"), list):
            raise RefusedError(422, {"detail": "value must not be a list"})
        run = self._rows.get(body["run_id"])
        if run is None or not self._is_visible(body["run_id"]) or run["session_id"] != body["session_id"]:
            raise RefusedError(404, {"detail": "Run not found"})
        standing = [one for one in self.feedback if one["id"] == body["id"]]
        if standing and self.post_again == "conflict":
            raise RefusedError(409, {"detail": "Conflict"})
        if standing and self.post_again == "upsert":
            self.feedback.remove(standing[0])
        # what isn't sent extends the trace's retention, as the SDK does
        self.feedback.append({"extend_trace_retention": True, **body})
        return JSONResponse(body | {"created_at": iso(self.clock()), "modified_at": iso(self.clock())})

    def _patch_feedback(self, request: Request) -> Response:
        body = request.state.json
        _known(body, {"score", "value", "comment", "correction"})
        standing = [one for one in self.feedback if one["id"] == request.path_params["id"]]
        if not standing:
            raise RefusedError(404, {"detail": "Feedback not found"})
        for one in standing:
            one.update(body)
        return JSONResponse(standing[0])

    def _list_feedback(self, request: Request) -> Response:
        params = request.query_params
        runs, keys = params.getlist("run"), params.getlist("key")
        found = [
            one for one in self.feedback if (not runs or one["run_id"] in runs) and (not keys or one["key"] in keys)
        ]
        limit, offset = int(params.get("limit", 100)), int(params.get("offset", 0))
        if limit > 100 or len(runs) > 50:
            raise RefusedError(422, {"detail": "too many"})
        return JSONResponse(found[offset : offset + limit])

    def _post_config(self, request: Request) -> Response:
        body = request.state.json
        _known(body, {"feedback_key", "feedback_config", "is_lower_score_better", "is_enforced"})
        _known(body["feedback_config"], set(FeedbackConfig.__annotations__))
        match self.configs:
            case "exists":
                raise RefusedError(400, {"detail": "Feedback config already exists"})
            case "forbidden":
                raise RefusedError(403, {"error": "Forbidden"})
            case "none":
                raise RefusedError(404, {"detail": "Not Found"})
        self.feedback_configs[body["feedback_key"]] = body
        return JSONResponse(body)

    # ---- ingestion and stores ----

    def _batch(self, request: Request) -> Response:
        body = request.state.json
        for run in body.get("post") or []:
            self.put(self._ingested(run))
        for run in body.get("patch") or []:
            self.put(self._ingested(run))
        return JSONResponse({}, status_code=202)

    def _ingested(self, run: Mapping[str, Any]) -> Row:
        names = {held["name"]: key for key, held in self.projects.items()}
        row = {key: value for key, value in run.items() if key not in ("session_name", "serialized", "events")}
        if "session_name" in run:
            if run["session_name"] not in names:
                names[run["session_name"]] = str(uuid.uuid5(uuid.NAMESPACE_URL, run["session_name"]))
                self.projects[names[run["session_name"]]] = {"name": run["session_name"], "trace_tier": "shortlived"}
            row["session_id"] = names[run["session_name"]]
        for key in ("start_time", "end_time"):
            if row.get(key):
                row[key] = iso(parsed(row[key]))
        return row

    def _payload(self, request: Request) -> Response:
        if self.redirect_payloads_to is not None:
            return RedirectResponse(self.redirect_payloads_to)
        assert "x-api-key" not in request.headers, "no key goes to a store"
        held = self.payloads.get(request.path_params["name"])
        return Response(held or b"", status_code=200 if held is not None else 404, media_type="application/json")


def _known(given: Mapping[str, Any], allowed: set[str]) -> None:
    unknown = sorted(set(given) - allowed)
    if unknown:
        faults = [{"loc": ["body", name], "msg": f"Extra inputs are not permitted: {name}"} for name in unknown]
        raise RefusedError(422, {"detail": faults})


def _thread(row: Row) -> str | None:
    metadata = (row.get("extra") or {}).get("metadata") or {}
    return next((str(metadata[key]) for key in ("thread_id", "session_id", "conversation_id") if key in metadata), None)
