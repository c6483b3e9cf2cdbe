"""A Langfuse on loopback for tests: it answers as the real server was seen to, and has its habits.

Not the real thing: it keeps rows in memory and knows only the paths that the connector uses.
`test_langfuse_app.py` plays recorded exchanges of a real server against it.
"""

import base64
import binascii
import bisect
import json
import re
import threading
import time
import uuid
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

PUBLIC_KEY = "pk-lf-loopback-public"
SECRET_KEY = "sk-lf-loopback-secret"
PREFIX = "/api/public"
MODE_GONE = (
    "This endpoint is not available on deployments running in Langfuse v4 events_only mode. "
    "Learn more about Langfuse v4 at: https://langfuse.com/docs/v4"
)
GROUPS = {
    "core": "id traceId startTime endTime projectId parentObservationId type",
    "basic": "name level statusMessage version environment bookmarked public userId sessionId isRootObservation",
    "time": "completionStartTime createdAt updatedAt",
    "io": "input output",
    "metadata": "metadata",
    "model": "model internalModelId modelParameters",
    "usage": "usageDetails inputUsage outputUsage totalUsage costDetails inputCost outputCost totalCost "
    "usagePricingTierId usagePricingTierName",
    "prompt": "promptId promptName promptVersion",
    "metrics": "latency timeToFirstToken",
    "trace_context": "traceName release tags",
}
ALWAYS = ("latency", "timeToFirstToken", "modelId", "inputPrice", "outputPrice", "totalPrice")
COLUMNS = {
    "id", "type", "name", "traceId", "startTime", "endTime", "environment", "level", "statusMessage", "version",
    "userId", "sessionId", "isRootObservation", "traceName", "metadata",
}  # fmt: skip
PARAMETERS = (
    "name",
    "userId",
    "type",
    "traceId",
    "level",
    "environment",
    "sessionId",
    "version",
    "parentObservationId",
)
V3_PARAMETERS = {
    "limit", "cursor", "fields", "id", "name", "source", "dataType", "environment", "configId", "queueId",
    "authorUserId", "traceId", "sessionId", "observationId", "experimentId", "value", "valueMin", "valueMax",
    "fromTimestamp", "toTimestamp",
}  # fmt: skip


def _subject(score: Mapping[str, Any]) -> dict[str, Any]:
    if score["observationId"]:
        return {"kind": "observation", "id": score["observationId"], "traceId": score["traceId"]}
    kind = "trace" if score["traceId"] else "session"
    return {"kind": kind, "id": score["traceId"] or score["sessionId"]}


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parsed(text: str) -> datetime:
    return datetime.fromisoformat(text)


@dataclass(kw_only=True)
class Limit:
    """A fixed window that begins with the first call in it; the last call of the limit is refused."""

    calls: int
    per: float
    opened: float = 0.0
    used: int = 0


@dataclass(kw_only=True)
class LangfuseApp:
    """The server and its project."""

    version: str = "4.75.0"
    mode: str = "events_only"
    """`events_only`, `dual`, `legacy` (v4 without its new reads) or `v3`."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic: Callable[[], float] = time.monotonic
    most_bytes: int = 5_000_000
    """Of an answer."""
    limits: dict[str, Limit] = field(default_factory=dict)
    score_lag: timedelta = timedelta(0)
    drop_scores: int = 0
    """So many of the next scores are accepted and never stored."""
    refuse: Callable[[Mapping[str, Any]], str | None] = lambda _: None
    """A score that a list of scores is refused for, with the message."""
    organization_key: bool = False
    project: dict[str, Any] = field(
        default_factory=lambda: {
            "id": "proj1",
            "name": "Test Project",
            "organization": {"id": "org1", "name": "Test Org"},
        }
    )
    calls: Counter[str] = field(default_factory=Counter)
    sent: list[tuple[str, Any]] = field(default_factory=list)
    """Path and body of every write."""
    scores: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    configs: list[dict[str, Any]] = field(default_factory=list)
    trace_fields: dict[str, dict[str, Any]] = field(default_factory=dict)
    """For the older endpoints: what a trace has beside its observations."""

    def __post_init__(self) -> None:
        self._rows: dict[tuple[str, str], dict[str, Any]] = {}
        self._order: list[tuple[str, int, str, str]] = []
        self._failures: list[tuple[int, dict[str, str], Any]] = []
        self._stamped = datetime(2000, 1, 1, tzinfo=UTC)

    # ---- what applications and tests do ----

    def put(self, row: Mapping[str, Any], *, visible_in: float = 0.0) -> None:
        """An observation arrives; one with a known id and start is replaced, as after a merge."""
        now = self._stamp(visible_in)
        full = {
            "projectId": self.project["id"], "endTime": None, "parentObservationId": None, "type": "SPAN", "name": "",
            "level": "DEFAULT", "statusMessage": "", "version": "", "environment": "default", "userId": "",
            "sessionId": "", "isRootObservation": row.get("parentObservationId") is None, "bookmarked": False,
            "public": False, "completionStartTime": None, "createdAt": iso(now), "updatedAt": iso(now), "input": None,
            "output": None, "metadata": {}, "model": "", "modelParameters": {}, "usageDetails": {}, "costDetails": {},
            "totalCost": 0, "traceName": None, "release": "", "tags": [],
        }  # fmt: skip
        full |= {**dict.fromkeys(ALWAYS), **row, "_visible": self.clock() + timedelta(seconds=visible_in)}
        key = full["traceId"], f"{full['id']}@{full['startTime']}"
        place = (full["startTime"], zlib.crc32(full["traceId"].encode()), full["traceId"], key[1])
        if key not in self._rows:
            bisect.insort(self._order, place)
        self._rows[key] = full

    def _stamp(self, visible_in: float) -> datetime:
        """When a row is written: no two in one millisecond."""
        self._stamped = max(self._stamped + timedelta(milliseconds=1), self.clock() + timedelta(seconds=visible_in))
        return self._stamped

    def put_copy(self, row: Mapping[str, Any]) -> None:
        """A re-sent observation that the database hasn't merged yet: two rows with one id."""
        now = iso(self._stamp(0.0))
        full = {**self._stored(row["traceId"], row["id"]), **row, "createdAt": now, "updatedAt": now}
        key = full["traceId"], f"{full['id']}@{full['startTime']}#{now}"
        bisect.insort(self._order, (full["startTime"], zlib.crc32(full["traceId"].encode()), full["traceId"], key[1]))
        self._rows[key] = full

    def _stored(self, trace_id: str, span_id: str) -> dict[str, Any]:
        return next(row for (trace, key), row in self._rows.items() if trace == trace_id and key.startswith(span_id))

    def fail(self, status: int, *, headers: Mapping[str, str] | None = None, body: Any = None, times: int = 1) -> None:
        """Answer the next calls so."""
        self._failures += [(status, dict(headers or {}), body)] * times

    def shown(self) -> list[dict[str, Any]]:
        """Every score that a person would see, doubles too."""
        return sorted(self.scores.values(), key=lambda score: (score["id"], score["name"], score["timestamp"]))

    # ---- the server ----

    def starlette(self) -> Starlette:
        def route(path: str, handle: Callable[[Request], Any], *methods: str, bucket: str | None = "general") -> Route:
            async def answer(request: Request) -> Response:
                return await self._answer(request, handle, methods, bucket)

            return Route(PREFIX + path, answer, methods=["GET", "POST", "PUT", "DELETE", "PATCH"])

        return Starlette(
            routes=[
                route("/health", self._health, "GET", bucket=None),
                route("/ready", self._health, "GET", bucket=None),
                route("/projects", self._projects, "GET", bucket=None),
                route("/v2/observations", self._observations, "GET"),
                route("/v3/scores", self._scores_v3, "GET"),
                route("/v2/scores", self._scores_v2, "GET", bucket="legacy"),
                route("/v2/scores/{id:path}", self._score_v2, "GET", bucket="legacy"),
                route("/scores", self._post_scores, "POST"),
                route("/scores/{id:path}", self._delete_score, "DELETE", bucket="delete"),
                route("/score-configs", self._score_configs, "GET", "POST"),
                route("/ingestion", self._ingestion, "POST", bucket="ingestion"),
                route("/otel/v1/traces", lambda _: JSONResponse({}), "POST", bucket="ingestion"),
                route("/traces", self._traces, "GET", bucket="legacy"),
                route("/traces/{id:path}", self._trace, "GET", bucket="legacy"),
                route("/sessions/{id:path}", self._session, "GET", bucket="legacy"),
            ],
            exception_handlers={404: lambda *_: HTMLResponse("<!DOCTYPE html><html></html>", status_code=404)},
        )

    async def _answer(
        self, request: Request, handle: Callable[[Request], Any], methods: tuple[str, ...], bucket: str | None
    ) -> Response:
        path = request.url.path.removeprefix(PREFIX)
        self.calls[
            f"{request.method} /{path.split('/')[1]}{'/' + path.split('/')[2] if path.startswith('/v') else ''}"
        ] += 1
        if self._failures:
            status, headers, body = self._failures.pop(0)
            if isinstance(body, str):
                return PlainTextResponse(body, status_code=status, headers=headers)
            return JSONResponse(body or {"message": f"failure {status}"}, status_code=status, headers=headers)
        older = ("/traces", "/sessions", "/v2/scores", "/observations")
        if self.mode == "events_only" and path.startswith(older):
            return JSONResponse({"message": MODE_GONE}, status_code=404)
        if self.mode in ("legacy", "v3") and path == "/v2/observations":
            if self.mode == "v3":
                return HTMLResponse("<!DOCTYPE html><html></html>", status_code=404)
            return JSONResponse(
                {"message": "The observations v2 API is only available in a Langfuse v4 write mode"}, status_code=404
            )
        if request.method not in methods:
            return JSONResponse({"message": "Method not allowed", "error": "MethodNotAllowedError"}, status_code=405)
        if path not in ("/health", "/ready"):
            refused = self._refused(request, path)
            if refused is not None:
                return refused
        if bucket is not None and (over := self._over(bucket)) is not None:
            return over
        body = await request.body()
        if request.method == "POST":
            if len(body) > (4_500_000 if path == "/ingestion" else 1_048_576):
                return PlainTextResponse("Body exceeded 1mb limit", status_code=413)
            if path.startswith("/otel"):
                received: Response = handle(request)
                return received
            try:
                request.state.json = json.loads(body, parse_constant=_no_constant) if body else ""
            except ValueError:
                return PlainTextResponse("Invalid JSON", status_code=400)
            self.sent.append((path, request.state.json))
        answer: Response = handle(request)
        if len(answer.body) > self.most_bytes:
            return JSONResponse(
                {"message": "The response is too large, narrow your request", "error": "PayloadTooLargeError"},
                status_code=422,
            )
        return answer

    def _refused(self, request: Request, path: str) -> Response | None:
        header = request.headers.get("authorization")
        if header is None:
            return JSONResponse({"message": "No authorization header"}, status_code=401)
        good = "Basic " + base64.b64encode(f"{PUBLIC_KEY}:{SECRET_KEY}".encode()).decode()
        bearer = path == "/scores" and header == f"Bearer {PUBLIC_KEY}"
        if header != good and not bearer:
            return JSONResponse(
                {"message": "Invalid credentials. Confirm that you've configured the correct host."}, status_code=401
            )
        if self.organization_key:
            return JSONResponse({"message": "Forbidden: organization key"}, status_code=403)
        return None

    def _over(self, name: str) -> Response | None:
        limit = self.limits.get(name)
        if limit is None:
            return None
        now = self.monotonic()
        if now >= limit.opened + limit.per:
            limit.opened, limit.used = now, 0
        limit.used += 1
        remaining = limit.calls - limit.used
        if remaining >= 1:
            return None
        wait = limit.opened + limit.per - now
        headers = {
            "Retry-After": str(max(int(wait + 0.999), 1)),
            "X-RateLimit-Limit": str(limit.calls),
            "X-RateLimit-Remaining": "0",
            "X-RateLimit-Reset": "Mon Nov 30 2026 20:00:00 GMT+0000 (Coordinated Universal Time)",
        }
        body = {"message": "Rate limit exceeded", "code": "rate_limited", "details": {"retryAfterSeconds": wait}}
        self.calls["429"] += 1
        return JSONResponse(body, status_code=429, headers=headers)

    def _health(self, _: Request) -> Response:
        return JSONResponse({"status": "OK", "version": self.version})

    def _projects(self, _: Request) -> Response:
        return JSONResponse({"data": [{**self.project, "metadata": {}}]})

    # ---- observations ----

    def _observations(self, request: Request) -> Response:
        params = request.query_params
        if params.get("parseIoAsJson") == "true":
            return _invalid("parseIoAsJson", "Invalid input")
        limit = int(params.get("limit", 50))
        if limit > 1000:
            fault = {"origin": "number", "code": "too_big", "maximum": 1000, "inclusive": True, "path": ["limit"]}
            message = "Too big: expected number to be <=1000"
            return JSONResponse(
                {"message": "Invalid request data", "error": [{**fault, "message": message}]}, status_code=400
            )
        try:
            conditions = self._conditions(request)
            after = _cursor_of(params.get("cursor"))
        except _BadRequest as bad:
            return JSONResponse({"message": str(bad), "error": bad.error}, status_code=400)
        wanted = {
            name for group in params.get("fields", "core,basic").split(",") for name in GROUPS.get(group, "").split()
        }
        expand = set(filter(None, params.get("expandMetadata", "").split(",")))
        rows: list[dict[str, Any]] = []
        places: list[tuple[str, int, str, str]] = []
        for place, row in self._matching(conditions, after):
            if len(rows) == limit:
                break
            places.append(place)
            rows.append(_projected(row, wanted, expand))
        more = len(rows) == limit and limit > 0 and next(self._matching(conditions, places[-1]), None) is not None
        meta = {"cursor": _cursor(places[-1], self._rows[places[-1][2], places[-1][3]])} if more else {}
        return JSONResponse({"data": rows, "meta": meta})

    def _conditions(self, request: Request) -> list[dict[str, Any]]:
        params = request.query_params
        conditions: list[dict[str, Any]] = []
        if "filter" in params:
            try:
                conditions = json.loads(params["filter"])
            except ValueError:
                raise _BadRequest("Invalid JSON in filter parameter") from None
            for one in conditions:
                if one["column"] not in COLUMNS:
                    raise _BadRequest(f"Column {one['column']} does not match a UI / CH table mapping.")
        taken = {one["column"] for one in conditions}
        for name in PARAMETERS:
            if name in params and name not in taken:
                conditions.append({"column": name, "operator": "any of", "value": params.getlist(name)})
        if "isRootObservation" in params and "isRootObservation" not in taken:
            root = params["isRootObservation"] == "true"
            conditions.append({"column": "isRootObservation", "operator": "=", "value": root})
        for name, operator in (("fromStartTime", ">="), ("toStartTime", "<")):
            if name in params and "startTime" not in taken:
                conditions.append(
                    {"type": "datetime", "column": "startTime", "operator": operator, "value": params[name]}
                )
        return conditions

    def _matching(
        self, conditions: list[dict[str, Any]], after: tuple[str, int, str, str] | None
    ) -> Iterator[tuple[tuple[str, int, str, str], dict[str, Any]]]:
        low, high = "", "~"
        rest = []
        for one in conditions:
            if one["column"] == "startTime" and one["operator"] == ">=":
                low = max(low, iso(parsed(one["value"])))
            elif one["column"] == "startTime" and one["operator"] == "<":
                high = min(high, iso(parsed(one["value"])))
            else:
                rest.append(one)
        index = bisect.bisect_left(self._order, (high, -1, "", "")) - 1
        if after is not None:
            index = min(index, bisect.bisect_left(self._order, after) - 1)
        now = self.clock()
        while index >= 0 and self._order[index][0] >= low:
            place = self._order[index]
            row = self._rows[place[2], place[3]]
            if row["_visible"] <= now and all(_meets(row, one) for one in rest):
                yield place, row
            index -= 1

    # ---- scores ----

    def _post_scores(self, request: Request) -> Response:
        body = request.state.json
        takes_lists = tuple(int(part) for part in self.version.split(".")) >= (4, 59, 0)
        if isinstance(body, list) and takes_lists:
            errors = []
            for score in body:
                fault = _fault_of(score) or self.refuse(score) or ("Invalid id" if _bad_id(score) else None)
                if fault:
                    errors.append({"message": fault if isinstance(fault, str) else "Invalid request data"})
                else:
                    self._store(score, score.get("timestamp"))
            if errors:
                results: Any = {"accepted": len(body) - len(errors), "rejected": len(errors), "errors": errors}
                return JSONResponse(results, status_code=207)
            return JSONResponse({"message": "Accepted"}, status_code=202)
        if isinstance(body, list):
            refusal = {
                "expected": "object",
                "code": "invalid_type",
                "path": [],
                "message": "Invalid input: expected object, received array",
            }
            return JSONResponse({"message": "Invalid request data", "error": [refusal, refusal]}, status_code=400)
        if takes_lists:
            return _invalid("", "Invalid input: expected array, received object")
        fault = _fault_of(body)
        if fault:
            return JSONResponse({"message": "Invalid request data", "error": fault}, status_code=400)
        if _bad_id(body):
            return JSONResponse({"message": json.dumps([{"path": ["body", "id"]}])}, status_code=400)
        return JSONResponse({"id": self._store(body, None)})

    def _ingestion(self, request: Request) -> Response:
        body = request.state.json
        if not isinstance(body, dict) or not isinstance(body.get("batch"), list):
            missing = "Invalid input: expected array, received undefined"
            return JSONResponse({"message": "Invalid request data", "errors": [missing]}, status_code=400)
        successes, errors = [], []
        for event in body["batch"]:
            fault = _fault_of(event["body"])
            if fault:
                errors.append(
                    {"id": event["id"], "status": 400, "message": "Invalid request data", "error": json.dumps(fault)}
                )
            else:
                self._store(event["body"], event["timestamp"])
                successes.append({"id": event["id"], "status": 201})
        return JSONResponse({"successes": successes, "errors": errors}, status_code=207)

    def _store(self, score: Mapping[str, Any], timestamp: str | None) -> str:
        now = self.clock()
        score_id = score.get("id") or str(uuid.uuid4())
        config = next((one for one in self.configs if one["id"] == score.get("configId")), None)
        if score.get("configId") and (config is None or not _in_range(score["value"], config)):
            return score_id
        if self.drop_scores > 0:
            self.drop_scores -= 1
            return score_id
        at = iso(parsed(timestamp)) if timestamp else iso(now)
        name = config["name"] if config is not None else score["name"]
        kind = score.get("dataType") or ("CATEGORICAL" if isinstance(score["value"], str) else "NUMERIC")
        key = (score_id, name, at[:10])
        known = self.scores.get(key, {})
        fresh = {
            "id": score_id, "projectId": self.project["id"], "name": name, "source": "API", "dataType": kind,
            "value": bool(score["value"]) if kind == "BOOLEAN" else score["value"],
            "configId": score.get("configId"), "updatedAt": iso(now),
        }  # fmt: skip
        kept: dict[str, Any] = {
            "timestamp": at, "createdAt": iso(now), "traceId": score.get("traceId"), "comment": None, "metadata": {},
            "observationId": score.get("observationId"), "sessionId": score.get("sessionId"),
            "environment": _environment(score.get("environment")), "_visible": now + self.score_lag,
        } | known  # fmt: skip
        said = {key: score[key] for key in ("comment", "metadata") if score.get(key) is not None}
        self.scores[key] = {**kept, **fresh, **said}
        return score_id

    def _delete_score(self, request: Request) -> Response:
        score_id = request.path_params["id"]
        self.scores = {key: score for key, score in self.scores.items() if key[0] != score_id}
        return JSONResponse({"message": "Score deletion queued successfully"}, status_code=202)

    def _readable(self) -> list[dict[str, Any]]:
        """One row for each id, newest first."""
        now = self.clock()
        found: dict[str, dict[str, Any]] = {}
        for score in sorted(self.scores.values(), key=lambda score: score["updatedAt"]):
            if score["_visible"] <= now:
                found[score["id"]] = score
        return sorted(found.values(), key=lambda score: (score["timestamp"], score["id"]), reverse=True)

    def _scores_v3(self, request: Request) -> Response:
        params = request.query_params
        if unknown := sorted(set(params) - V3_PARAMETERS):
            fault = {"code": "unrecognized_keys", "keys": unknown, "path": [], "message": "Unrecognized key"}
            return JSONResponse({"message": "Invalid request data", "error": [fault]}, status_code=400)
        limit = int(params.get("limit", 50))
        if limit > 100:
            return _invalid("limit", "Too big: expected number to be <=100")
        fields = params.get("fields", "").split(",")
        found = self._readable()
        for name in ("id", "name", "source", "traceId", "sessionId", "observationId", "configId", "dataType"):
            if name in params:
                found = [score for score in found if score.get(name) in params[name].split(",")]
        if "fromTimestamp" in params:
            found = [score for score in found if parsed(score["timestamp"]) >= parsed(params["fromTimestamp"])]
        cursor = params.get("cursor", "")
        start = int(cursor) if cursor.isdecimal() else 0  # a recorded server's cursor is of its own scores
        core = (
            "id",
            "projectId",
            "name",
            "source",
            "timestamp",
            "environment",
            "createdAt",
            "updatedAt",
            "dataType",
            "value",
        )
        details = ("comment", "configId", "metadata") if "details" in fields else ()
        data = [{name: score[name] for name in (*core, *details)} for score in found[start : start + limit]]
        if "subject" in fields:
            for told, score in zip(data, found[start:], strict=False):
                told["subject"] = _subject(score)
        more = {"cursor": str(start + limit)} if len(found) > start + limit else {}
        return JSONResponse({"data": data, "meta": {"limit": limit, **more}})

    def _scores_v2(self, request: Request) -> Response:
        limit, page = int(request.query_params.get("limit", 50)), int(request.query_params.get("page", 1))
        found = [{key: value for key, value in score.items() if not key.startswith("_")} for score in self._readable()]
        meta = {"page": page, "limit": limit, "totalItems": len(found), "totalPages": -(-len(found) // limit)}
        return JSONResponse({"data": found[(page - 1) * limit : page * limit], "meta": meta})

    def _score_v2(self, request: Request) -> Response:
        found = next((score for score in self._readable() if score["id"] == request.path_params["id"]), None)
        if found is None:
            return JSONResponse({"message": "Score not found", "error": "LangfuseNotFoundError"}, status_code=404)
        return JSONResponse({key: value for key, value in found.items() if not key.startswith("_")})

    def _score_configs(self, request: Request) -> Response:
        if request.method == "GET":
            meta = {"page": 1, "limit": 50, "totalItems": len(self.configs), "totalPages": 1}
            return JSONResponse({"data": self.configs, "meta": meta})
        asked = request.state.json
        if not re.fullmatch(r"[A-Za-z0-9_.()\- ]{1,35}", asked["name"]):
            return _invalid("name", "Invalid name")
        now = iso(self.clock())
        made = {
            "id": f"config-{len(self.configs) + 1}", "isArchived": False, "description": None, "createdAt": now,
            "updatedAt": now, "projectId": self.project["id"], "maxValue": None, "minValue": None, "categories": None,
        } | asked  # fmt: skip
        self.configs.append(made)
        return JSONResponse(made)

    # ---- the older endpoints ----

    def _traces(self, request: Request) -> Response:
        params = request.query_params
        limit, page = int(params.get("limit", 50)), int(params.get("page", 1))
        if not 1 <= limit <= 100:
            return _invalid(
                "limit",
                "Too big: expected number to be <=100" if limit > 100 else "Too small: expected number to be >=1",
            )
        start, end = params.get("fromTimestamp", ""), params.get("toTimestamp", "~")
        order = params.get("orderBy", "timestamp.desc")
        if not order.endswith((".asc", ".desc")):
            return _invalid("orderBy.order", 'Invalid option: expected one of "ASC"|"DESC"')
        listed = [trace for trace in self._older_traces() if start <= trace["timestamp"] < end]
        listed.sort(key=lambda trace: (trace["timestamp"], trace["id"]), reverse=order.endswith(".desc"))
        some = listed[(page - 1) * limit : page * limit]
        for trace in some:
            trace["observations"] = [row["id"] for row in trace["observations"]]
        pages = -(-len(listed) // limit)
        meta = {"page": page, "limit": limit, "totalItems": len(listed), "totalPages": pages}
        return JSONResponse({"data": some, "meta": meta})

    def _trace(self, request: Request) -> Response:
        trace_id = request.path_params["id"]
        found = next((trace for trace in self._older_traces() if trace["id"] == trace_id), None)
        if found is None:
            missing = f"Trace {trace_id} not found within authorized project"
            return JSONResponse({"message": missing, "error": "LangfuseNotFoundError"}, status_code=404)
        return JSONResponse(found)

    def _session(self, request: Request) -> Response:
        session_id = request.path_params["id"]
        held = [trace for trace in self._older_traces() if trace["sessionId"] == session_id]
        if not held:
            return JSONResponse(
                {"message": "Session not found within authorized project", "error": "LangfuseNotFoundError"},
                status_code=404,
            )
        return JSONResponse({"id": session_id, "projectId": self.project["id"], "traces": held})

    def _older_traces(self) -> list[dict[str, Any]]:
        """Traces as the older endpoints show them: decoded input and output, null for what is absent."""
        now = self.clock()
        groups: dict[str, list[dict[str, Any]]] = {}
        for row in self._rows.values():
            if row["_visible"] <= now:
                groups.setdefault(row["traceId"], []).append(row)
        traces = []
        for trace_id, rows in groups.items():
            root = next((row for row in rows if row["parentObservationId"] is None), None)
            shown = root if root is not None else dict.fromkeys(rows[0])
            traces.append(
                {
                    "id": trace_id,
                    "projectId": self.project["id"],
                    "name": shown.get("traceName") or shown.get("name") or "",
                    "timestamp": min(row["startTime"] for row in rows),
                    "environment": rows[0]["environment"],
                    "tags": shown.get("tags") or [],
                    "release": shown.get("release") or None,
                    "version": shown.get("version") or None,
                    "userId": shown.get("userId") or None,
                    "sessionId": shown.get("sessionId") or None,
                    "public": False,
                    "input": _decoded(shown.get("input")),
                    "output": _decoded(shown.get("output")),
                    "metadata": shown.get("metadata") or {},
                    "createdAt": min(row["createdAt"] for row in rows),
                    "updatedAt": max(row["updatedAt"] for row in rows),
                    "scores": [],
                    "observations": [_older_row(row) for row in rows],
                }
                | self.trace_fields.get(trace_id, {})
            )
        return traces


class _BadRequest(Exception):  # noqa: N818 - the status it stands for
    error = "InvalidRequestError"


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _invalid(path: str, message: str) -> Response:
    steps = path.split(".") if path else []
    return JSONResponse(
        {"message": "Invalid request data", "error": [{"path": steps, "message": message}]}, status_code=400
    )


def _decoded(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _older_row(row: Mapping[str, Any]) -> dict[str, Any]:
    hidden = ("isRootObservation", "traceName", "tags", "release", "userId", "sessionId")
    shown = {key: value for key, value in row.items() if not key.startswith("_") and key not in hidden}
    for key in ("statusMessage", "version", "model"):
        shown[key] = shown.get(key) or None
    return shown | {"input": _decoded(row["input"]), "output": _decoded(row["output"])}


def _projected(row: Mapping[str, Any], wanted: set[str], expand: set[str]) -> dict[str, Any]:
    groups = {name for names in GROUPS.values() for name in names.split()}
    shown = {
        key: value
        for key, value in row.items()
        if key in wanted or key in ALWAYS or (key not in groups and not key.startswith("_"))
    }
    if "metadata" in shown:
        shown["metadata"] = {
            key: value if key in expand or not isinstance(value, str) else value[:200]
            for key, value in row["metadata"].items()
        }
    return shown


def _meets(row: Mapping[str, Any], one: Mapping[str, Any]) -> bool:
    value, against = row.get(one["column"]), one["value"]
    match one["operator"]:
        case "=":
            return bool(value == against)
        case "any of":
            return value in against or (value is None and "" in against)
        case "none of":
            return value not in against
        case "contains":
            return against in (value or "")
        case ">=" | "<" | ">" | "<=" as operator:
            if value is None:
                return False
            ours, theirs = (
                (iso(parsed(value)), iso(parsed(against))) if one.get("type") == "datetime" else (value, against)
            )
            return {">=": ours >= theirs, "<": ours < theirs, ">": ours > theirs, "<=": ours <= theirs}[operator]
        case operator:
            raise AssertionError(f"the loopback app knows no {operator}")


def _cursor(place: tuple[str, int, str, str], row: Mapping[str, Any]) -> str:
    state = {"lastStartTimeTo": place[0], "lastTraceId": place[2], "lastId": row["id"], "lastKey": place[3]}
    return base64.b64encode(json.dumps(state).encode()).decode()


def _cursor_of(text: str | None) -> tuple[str, int, str, str] | None:
    if text is None:
        return None
    try:
        state = json.loads(base64.b64decode(text, validate=True))
    except (ValueError, binascii.Error):
        raise _BadRequest("Invalid cursor format") from None
    if "lastStartTimeTo" not in state:
        bad = _BadRequest("Invalid request data")
        bad.error = [{"path": ["cursor", "lastStartTimeTo"], "code": "invalid_type"}]  # type: ignore[assignment]
        raise bad
    trace_id = state["lastTraceId"]
    key = state.get("lastKey", f"{state['lastId']}@{state['lastStartTimeTo']}")
    return state["lastStartTimeTo"], zlib.crc32(trace_id.encode()), trace_id, key


def _environment(value: str | None) -> str:
    lowered = (value or "default").lower()
    if lowered.startswith("langfuse"):
        lowered = lowered.removeprefix("langfuse").lstrip("-_")
    return lowered if re.fullmatch(r"[a-z0-9\-_]{1,40}", lowered) else "default"


def _bad_id(score: Mapping[str, Any]) -> bool:
    return len(score.get("id") or "") > 800 or "\r" in (score.get("id") or "")


def _in_range(value: Any, config: Mapping[str, Any]) -> bool:
    low, high = config["minValue"], config["maxValue"]
    return isinstance(value, (int, float)) and (low is None or value >= low) and (high is None or value <= high)


def _fault_of(score: Any) -> list[dict[str, Any]] | None:
    """What the server's schema has against a score."""

    def fault(message: str, *path: str) -> list[dict[str, Any]]:
        return [{"code": "custom", "path": list(path), "message": message}]

    if not isinstance(score, dict):
        return fault("Invalid input: expected object")
    if not isinstance(score.get("name"), str) or not score["name"]:
        return fault("Invalid input: expected string", "name")
    targets = [key for key in ("traceId", "sessionId", "datasetRunId") if score.get(key)]
    if len(targets) != 1 or (score.get("observationId") and targets != ["traceId"]):
        return fault("Provide exactly one of the following: traceId, sessionId or datasetRunId.", "traceId")
    if score.get("source") == "EVAL" or (score.get("source") == "ANNOTATION" and not score.get("configId")):
        return fault("Invalid source", "source")
    value = score.get("value")
    match score.get("dataType"):
        case None if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            return None
        case "NUMERIC" if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e308:
            return None
        case "BOOLEAN" if value in (0, 1) and not isinstance(value, bool):
            return None
        case "CATEGORICAL" if isinstance(value, str):
            return None
        case "TEXT" if isinstance(value, str) and 1 <= len(value) <= 500:
            return None
        case "CORRECTION" if isinstance(value, str):
            return None
    return fault("Invalid input", "value")


class Servable(Protocol):
    """What has routes to serve."""

    def starlette(self) -> Starlette: ...


class _Server(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = threading.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@contextmanager
def served(app: Servable) -> Iterator[str]:
    """A server on a free port of loopback, in a thread; gives its address."""
    config = uvicorn.Config(
        app.starlette(), host="127.0.0.1", port=0, log_level="error", ws="none", lifespan="off", timeout_keep_alive=5
    )
    server = _Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert server.listening.wait(timeout=10)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(timeout=10)
