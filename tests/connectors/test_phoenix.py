"""Phoenix without a server: settings, spans as traces, the cursor, answers that are odd, the evaluator's result."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.connectors import Score, Target, Trace, Window, load_connector
from groundwire.connectors.http import Patience
from groundwire.connectors.phoenix import PhoenixSettings, PhoenixSink, PhoenixSource, evaluator, phoenix
from groundwire.connectors.phoenix.annotation import annotation_of
from groundwire.connectors.phoenix.mapping import trace_of
from groundwire.connectors.phoenix.place import Anchor, Place
from groundwire.connectors.phoenix.spans import digest_of, number_of
from groundwire.connectors.phoenix.wire import Wire, read_version
from groundwire.scorer import ConfigError, GiveUp, GroundwireError, HallucinationMetric, OfflineJudge, RetryLater

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
TRACE = "7788d44e280e8ce6c87247def5330dcc"


def row(
    number: int, attributes: Mapping[str, Any] | None = None, *, kind: str = "LLM", parent: str | None = None
) -> dict[str, Any]:
    return {
        "id": {1: "U3Bhbjox", 2: "U3Bhbjoy", 3: "U3Bhbjoz"}[number],
        "name": f"span-{number}",
        "context": {"trace_id": TRACE, "span_id": f"{number:016x}"},
        "span_kind": kind,
        "parent_id": parent,
        "start_time": "2026-11-30T12:00:00+00:00",
        "end_time": f"2026-11-30T12:00:0{number}.000250+00:00",
        "status_code": "OK",
        "status_message": "",
        "attributes": dict(attributes or {}),
        "events": [],
    }


# ---- settings ----


@pytest.mark.parametrize(
    ("given", "host"),
    [
        ("http://localhost:6006/", "http://localhost:6006"),
        ("http://localhost:6006/v1/traces", "http://localhost:6006"),
        (" https://app.phoenix.arize.com/s/space/v1/ ", "https://app.phoenix.arize.com/s/space"),
    ],
)
def test_an_address_is_taken_as_collectors_are_told_it(given: str, host: str) -> None:
    assert PhoenixSettings(host=given).host == host


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"host": "localhost:6006"}, "sources.prod.host: give an address such as http://localhost:6006"),
        ({"host": "http://localhost:x"}, "sources.prod.host: give an address such as http://localhost:6006"),
        ({"host": "http://k:secret-word@x"}, "sources.prod.host: a key does not belong into the address; use api_key"),
        ({"host": "http://localhost:4317"}, "sources.prod.host: port 4317 takes spans by gRPC alone; give the port of"),
        ({"project": "  "}, "sources.prod.project: name the project"),
        ({"settle": -1}, "sources.prod.settle: Input should be greater than or equal to 0"),
        ({"projekt": "a"}, 'sources.prod.projekt: the platform "phoenix" has no such setting; did you mean `project`?'),
    ],
)
def test_a_wrong_setting_is_told_in_one_line(setting: Mapping[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        phoenix.read_settings(setting, at="sources.prod")
    assert str(refused.value).startswith(said)
    assert "secret-word" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_it_is_found_by_its_name_and_says_what_to_filter_by_instead() -> None:
    assert load_connector("phoenix") is phoenix
    phoenix.check_where(["tags", "metadata.plan", "session"])
    with pytest.raises(ConfigError, match="use metadata\\.environment"):
        phoenix.check_where(["environment"])


def test_a_key_is_shown_by_nothing() -> None:
    settings = PhoenixSettings.model_validate({"api_key": "px-very-secret"})
    shown = repr(settings) + repr(PhoenixSource(settings)) + repr(PhoenixSink(settings)) + repr(Wire(settings))
    assert "px-very-secret" not in shown
    assert PhoenixSettings.model_validate({"api_key": " "}).key is None


# ---- spans ----


def test_what_phoenix_takes_apart_is_whole_again() -> None:
    trace = trace_of(
        [
            row(
                1,
                {
                    "metadata.plan": "gold",
                    "metadata.deep.level": 2,
                    "session.id": "chat-1",
                    "user.id": "u-1",
                    "tag.tags": ["a", "b"],
                    "input.value": "Where is it?",
                    "my.own": "x" * 2_000,
                    "http.status": 200,
                },
                kind="AGENT",
            ),
            row(
                2,
                {"tool.name": "find", "tool.parameters.id": 7, "output.value": "there"},
                kind="TOOL",
                parent="0" * 15 + "1",
            ),
        ],
        project="UHJvamVjdDox",
    )
    assert trace is not None
    assert trace.metadata == {"plan": "gold", "deep.level": 2}
    assert (trace.session_id, trace.user_id, trace.tags, trace.origin) == ("chat-1", "u-1", ("a", "b"), "UHJvamVjdDox")
    root, tool = trace.spans
    assert root.attributes == {"my.own": "x" * 1_000, "http.status": 200}
    assert tool.input == {"id": 7}
    assert tool.end_time == datetime(2026, 11, 30, 12, 0, 2, 250, tzinfo=UTC)


def test_metadata_that_is_a_text_as_well_does_no_harm() -> None:
    trace = trace_of([row(1, {"metadata": "no object", "metadata.a": 1})], project="p")
    assert trace is not None
    assert trace.metadata == {"a": 1}


@pytest.mark.parametrize("odd", [{}, {"context": None}, {"context": {"trace_id": TRACE}}, {"attributes": "none"}])
def test_a_span_that_cannot_be_read_stops_no_other(odd: dict[str, Any]) -> None:
    trace = trace_of([row(1), {**row(2), "start_time": None}, odd], project="p")
    assert trace is not None
    assert [span.name for span in trace.spans] == ["span-1"]


def test_numbers_and_digests() -> None:
    assert [number_of(row(number)) for number in (1, 2, 3)] == [1, 2, 3]
    assert [number_of({"id": odd}) for odd in (None, "", "§", "AAAA", "U3Bhbjp4")] == [0] * 5
    assert digest_of(row(1)) == digest_of({**row(1), "events": [{"timestamp": "now"}]})
    assert digest_of(row(1)) != digest_of(row(1, {"output.value": "other"}))


# ---- the cursor ----


moments = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds are naive
places = st.builds(
    Place,
    begin=st.none() | moments,
    since=st.none() | moments,
    floor=st.none()
    | st.builds(Anchor, number=st.integers(1, 10**9), key=st.text(max_size=9), digest=st.text(max_size=8)),
    seen=st.dictionaries(st.integers(1, 10**9), st.text("0123456789abcdef", min_size=8, max_size=8), max_size=5),
    newest=st.lists(st.tuples(moments, st.integers(0, 10**9)), max_size=3).map(tuple),
    waiting=st.dictionaries(st.text(max_size=32), moments, max_size=3),
)


@given(places)
def test_a_place_survives_json(place: Place) -> None:
    assert Place.of(json.loads(json.dumps(place.as_cursor()))) == place


@pytest.mark.parametrize(
    "cursor", [None, {}, {"phoenix": 0}, {"phoenix": 1, "floor": [1]}, {"phoenix": 1, "seen": [1]}, {"langfuse": 1}]
)
def test_another_cursor_starts_from_the_beginning(cursor: Any) -> None:
    assert Place.of(cursor) == Place()


@given(
    looks=st.lists(st.tuples(st.floats(0, 300), st.integers(0, 500)), min_size=1, max_size=12),
    overlap=st.floats(1, 120),
)
def test_what_is_final_was_stored_that_long_ago_and_never_goes_back(
    looks: list[tuple[float, int]], overlap: float
) -> None:
    place, now, newest, final = Place(), NOON, 0, -(10**9)
    history: list[tuple[datetime, int]] = []
    for wait, more in looks:
        now, newest = now + timedelta(seconds=wait), newest + more
        history.append((now, newest))
        place = place.looking(newest, now=now, overlap=timedelta(seconds=overlap))
        reached = place.final(now=now, overlap=timedelta(seconds=overlap))
        old = [number for at, number in history if at <= now - timedelta(seconds=overlap)]
        assert reached == max([newest - 10_000, *old])
        assert reached >= final
        final = reached
    assert len(place.newest) <= len(looks)


# ---- odd answers ----


def over(answer: Callable[[httpx.Request], httpx.Response], **settings: Any) -> Wire:
    given = PhoenixSettings.model_validate({"host": "http://phoenix.test", **settings})
    return Wire(given, patience=Patience(attempts=1), now=lambda: NOON, transport=httpx.MockTransport(answer))


def projects_then(answer: httpx.Response) -> Callable[[httpx.Request], httpx.Response]:
    def respond(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/projects":
            headers = {"x-phoenix-server-version": "20.26.1"}
            return httpx.Response(200, json={"data": [{"id": "P1", "name": "default"}]}, headers=headers)
        return answer

    return respond


async def pulled(wire: Wire) -> list[Trace]:
    source = PhoenixSource(wire.settings, wire=wire)
    try:
        window = Window(start=NOON - timedelta(hours=1))
        return [trace async for page in source.pull(window, None) for trace in page.traces]
    finally:
        await source.close()


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        (
            httpx.Response(200, html="<p>hello</p>"),
            ConfigError,
            "no Phoenix answers at http://phoenix.test; check `host`",
        ),
        (httpx.Response(404, text="Not Found"), ConfigError, "no Phoenix answers at http://phoenix.test; check `host`"),
        (httpx.Response(401, text="Invalid token"), GiveUp, "Phoenix refuses its projects (HTTP 401)"),
        (httpx.Response(403, text="Forbidden"), GiveUp, "Phoenix refuses its projects (HTTP 403)"),
        (httpx.Response(429, headers={"retry-after": "7"}), RetryLater, "Phoenix asks to wait with its projects"),
        (httpx.Response(507, text="locked"), RetryLater, "Phoenix failed at its projects (HTTP 507)"),
        (httpx.Response(307, headers={"location": "http://elsewhere"}), GroundwireError, "HTTP 307"),
    ],
)
async def test_each_refusal_says_what_to_do(answer: httpx.Response, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as raised:
        await pulled(over(lambda _: answer))
    assert said in str(raised.value)
    assert getattr(raised.value, "after", 7.0) in (7.0, 0.0)


async def test_a_server_that_is_not_there_is_waited_for() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    with pytest.raises(RetryLater, match="gave no answer"):
        await pulled(over(refuse))
    source = PhoenixSource(PhoenixSettings(), wire=over(refuse))
    assert [(one.what, one.state) for one in await source.check()] == [("host", "failed")]


@pytest.mark.parametrize("body", [None, [], {"data": None}, {"data": ["x", {}, {"id": "U3Bhbjox"}], "next_cursor": 3}])
async def test_a_listing_of_another_shape_holds_nothing(body: Any) -> None:
    assert await pulled(over(projects_then(httpx.Response(200, json=body)))) == []


async def test_a_key_goes_along_as_a_bearer_token() -> None:
    asked: list[str | None] = []

    def respond(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("authorization"))
        return projects_then(httpx.Response(200, json={"data": []}))(request)

    await pulled(over(respond, api_key="px-key"))
    await pulled(over(respond))
    assert set(asked[: len(asked) // 2]) == {"Bearer px-key"}
    assert set(asked[len(asked) // 2 :]) == {None}


async def test_an_older_server_is_told_of() -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        answer = projects_then(httpx.Response(200, json={"data": []}))(request)
        answer.headers["x-phoenix-server-version"] = "12.33.1"
        return answer

    wire = over(respond)
    source = PhoenixSource(wire.settings, wire=wire)
    found = {one.what: one for one in await source.check()}
    assert found["host"].state == "failed"
    assert (
        found["host"].message == "Phoenix 12.33.1 at http://phoenix.test lists no traces; upgrade it to 20.16 or newer"
    )
    assert found["traffic"].state == "warning"
    await source.close()


@pytest.mark.parametrize(
    ("text", "version"),
    [("20.26.1", (20, 26, 1)), ("20.16.0rc1", (20, 16, 0)), ("20.26", None), ("", None), (None, None), ("a.b.c", None)],
)
def test_versions(text: str | None, version: Any) -> None:
    assert read_version(text) == version


# ---- annotations ----


def score(value: float | str | None = 0.5, **about: Any) -> Score:
    target = Target(project="prod", trace_id=TRACE, start_time=NOON)
    return Score(score_id="00000000-0000-5000-8000-000000000001", name="grounded", value=value, target=target, **about)


@pytest.mark.parametrize(
    ("judge", "kind"),
    [
        ("offline offline-1", "CODE"),
        ("llm gpt-5-mini", "LLM"),
        ("decision s1", "LLM"),
        (None, "LLM"),
    ],
)
def test_who_judged_is_told(judge: str | None, kind: str) -> None:
    assert annotation_of(score(metadata={"judge": judge}))["annotator_kind"] == kind
    assert annotation_of(score(metadata={"judge": judge, "labeller": "Ada"}))["annotator_kind"] == "HUMAN"


async def refused_by(status: int, scores: Sequence[Score], **answer: Any) -> list[tuple[str, str]]:
    sent: list[int] = []

    def respond(request: httpx.Request) -> httpx.Response:
        sent.append(len(json.loads(request.content)["data"]))
        return httpx.Response(status, **answer)

    sink = PhoenixSink(PhoenixSettings(), wire=over(respond))
    done: list[tuple[str, str]] = [(one.state, one.reason) for one in await sink.push(scores)]
    await sink.close()
    assert sent[0] == len(scores)
    return done


async def test_a_batch_that_is_refused_is_parted_until_each_is_told() -> None:
    scores = [replace(score(), score_id=f"s-{number}") for number in range(3)]
    detail = {"detail": [{"loc": ["body", "data", 0], "msg": "bad"}]}
    assert await refused_by(422, scores, json=detail) == [("refused", "Phoenix refuses it: body.data.0: bad")] * 3
    assert await refused_by(404, scores, text="Not Found") == [("refused", "Phoenix refuses it: HTTP 404")] * 3


async def test_what_was_written_before_an_outage_is_told_as_written() -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"data": []}) if request.method == "POST" else httpx.Response(503)

    sink = PhoenixSink(PhoenixSettings(), wire=over(respond))
    gone = replace(score(None), score_id="s-2")
    assert [one.state for one in await sink.push([score(), gone])] == ["delivered", "retry"]
    await sink.close()


# ---- the evaluator ----

METRIC = HallucinationMetric(judge=OfflineJudge())
FOUND = "Order A-77 was shipped on 3 May by Northpost."
FALSE = "Order A-77 was shipped on 9 June by Northpost."


async def test_the_evaluator_judges_an_output_against_its_context() -> None:
    judge = evaluator(METRIC, name="hallucination")
    assert judge.__name__ == "hallucination"
    good = await judge({"question": "Where is A-77?"}, {"answer": FOUND, "context": FOUND})
    bad = await judge(input={"question": "Where is A-77?", "context": [FOUND]}, output=FALSE)
    assert set(good) == {"score", "label", "explanation", "metadata"}
    assert (good["score"], good["label"]) == (1.0, "grounded")
    assert (bad["score"], bad["label"]) == (0.0, "hallucinated")
    assert "9 June" in bad["explanation"]
    json.dumps(bad)


async def test_the_evaluator_takes_messages_and_another_key() -> None:
    messages = [
        {"role": "user", "content": "Where is A-77?"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": FOUND},
    ]
    assert (await evaluator(METRIC)({"messages": messages}, FOUND))["score"] == 1.0
    keyed = evaluator(METRIC, context_key="passages")
    assert (await keyed("Where is A-77?", {"answer": FOUND, "passages": [FOUND]}))["score"] == 1.0


async def test_an_evaluation_without_a_score_says_why() -> None:
    result = await evaluator(METRIC)("Where is A-77?", FOUND)
    assert "score" not in result
    assert (result["label"], result["metadata"]["status"]) == ("invalid", "invalid")
    assert result["explanation"]
    nothing = await evaluator(METRIC, level="span")("Where is A-77?", FOUND)
    assert nothing["label"] == "invalid"
    with pytest.raises(ConfigError):
        evaluator(METRIC, name="")
