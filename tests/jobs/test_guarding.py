"""The guard of a configuration: what is refused, what a check leaves in the state, and on the platform."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import Connection
from tests.scorer.scripted import ScriptedJudge
from tests.scorer.test_guard import ANSWER, DOCUMENT, NINETY, POLICY, QUESTION

from groundwire.jobs.guarding import StoredChecks, build_guard, open_guard
from groundwire.jobs.schedule import Runner
from groundwire.jobs.service import Service, open_service
from groundwire.jobs.settings import Settings, load_settings
from groundwire.jobs.store import outbox, rows, work
from groundwire.jobs.store.rows import RowQuery, StoredRow
from groundwire.scorer import ConfigError, Guard, RetryLater

RULES = """
[[guard.rules]]
when.operator = "AND"
when.conditions = [
    { type = "fact_check", name = "needs_fact_check" },
    { type = "hallucination", name = "ungrounded" },
]
action = "annotate"
details = true
on_unknown = "flag"
"""
SIGNALS = """
[guard.signals]
fact_check = [{ name = "needs_fact_check" }]
hallucination = [{ name = "ungrounded" }]
"""


def written(folder: Path, text: str, **files: str) -> Settings:
    (folder / "groundwire.toml").write_text(text, encoding="utf-8")
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content, encoding="utf-8")
    return load_settings(folder / "groundwire.toml", environment={"PLACE": "default"})


def state(folder: Path) -> str:
    return f'[state]\nurl = "sqlite:///{folder / "state.db"}"\n'


def local(folder: Path) -> str:
    """A source of files, whose scores go to a file."""
    return f'[sources.local]\nplatform = "files"\npath = "{folder}/in/*.jsonl"\nout = "{folder / "scores.jsonl"}"\n'


@dataclass(kw_only=True)
class Opened:
    service: Service
    guard: Guard

    async def kept(self, **query: Any) -> list[StoredRow]:
        """The rows, once everything is written."""
        await self.guard.close()
        return await self.rows(**query)

    async def rows(self, **query: Any) -> list[StoredRow]:
        return [one async for page in rows.pages(self.service.store, RowQuery(**query)) for one in page]


@asynccontextmanager
async def opened(settings: Settings, judge: ScriptedJudge | None = None) -> AsyncIterator[Opened]:
    async with open_service(settings) as service:
        guard = build_guard(service)
        assert guard is not None
        assert settings.guard is not None
        if judge is not None:
            recorder = StoredChecks(
                store=service.store,
                spec=settings.guard,
                store_text=settings.state.store_text,
                clock=service.clock,
                told=service.meter.row,
            )
            guard = Guard(settings.guard.read()[0], judges={"default": judge}, recorder=recorder)
        yield Opened(service=service, guard=guard)
        await guard.close()


def test_a_routers_file_is_read_beside_the_configuration(tmp_path: Path) -> None:
    placed = DOCUMENT.replace("name: default", 'name: "${PLACE}"')
    for name in ("router_yaml", "router_json"):
        content = placed if name.endswith("yaml") else json.dumps(yaml.safe_load(placed))
        text = f'[guard]\nfile = "{name.replace("_", ".")}"\nrecipe = "default"\n'
        settings = written(tmp_path, text, **{name: content})
        assert settings.guard is not None
        rules, ignored = settings.guard.read()
        assert (rules.rules[0].action, rules.signals.hallucination[0].name) == ("annotate", "ungrounded")
        assert "recipes.default.decisions.grounded-qa.priority: router key, ignored" in ignored


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[guard]\nname = 'guard'", "guard: rules: "),
        (SIGNALS + RULES.replace("ungrounded", "other"), "no hallucination signal is called 'other'"),
        (SIGNALS.replace('"ungrounded"', '"ungrounded", deployment = "d3"') + RULES, "no judge is called 'd3'"),
        ("[guard]\njudge = 'big'\n" + SIGNALS + RULES, "no judge is called 'big'"),
        ("[guard]\nsource = 'prod'\n" + SIGNALS + RULES, "no source is called 'prod'"),
        ("[guard]\nsource = 'prod'\nrecord = false\n" + SIGNALS + RULES, "scores are made of records"),
        ("[guard]\nfile = 'none.yaml'", "guard.file: "),
        ("[guard]\nfile = 'odd.yaml'", "it can't be read as yaml (line 2)"),
        ("[guard]\nfile = 'text.yaml'", "guard.router: "),
        ("[guard]\nfile = 'self.yaml'", "holds itself"),
        ("[guard]\nfile = 'router.yaml'\n" + SIGNALS + RULES, "not in both"),
        ("[guard]\nactoin = 'flag'\n" + SIGNALS + RULES, "actoin: no such key"),
        (
            '[sources.local]\nplatform = "files"\npath = "x"\n[[evaluators]]\nname = "guard"\nsource = "local"\n'
            + SIGNALS
            + RULES,
            "an evaluator is called 'guard' as well",
        ),
    ],
)
def test_what_can_not_be_used_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    files = {
        "odd_yaml": "a: 1\nb: [",
        "text_yaml": "hello",
        "self_yaml": "&a {recipes: [*a]}",
        "router_yaml": DOCUMENT,
    }
    with pytest.raises(ConfigError) as caught:
        written(tmp_path, text, **files)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_judge_that_marks_no_spans_is_refused_when_the_guard_is_built(tmp_path: Path) -> None:
    judge = '[judges.default]\nkind = "decision"\nmodel = "d3"\nbase_url = "http://127.0.0.1:9"\n'
    settings = written(tmp_path, state(tmp_path) + judge + SIGNALS + RULES)
    async with open_service(settings) as service:
        with pytest.raises(ConfigError, match="hallucination 'ungrounded': span_required"):
            build_guard(service)
    with pytest.raises(ConfigError, match="guard"):
        async with open_guard(written(tmp_path, state(tmp_path))):
            pass


async def test_every_check_is_a_row_and_a_score_where_the_trace_is_known(tmp_path: Path) -> None:
    text = state(tmp_path) + local(tmp_path) + "[guard]\nsource = 'local'\n" + SIGNALS + RULES
    judge = ScriptedJudge(found=(NINETY,))
    async with opened(written(tmp_path, text), judge) as o:
        await o.guard.check(QUESTION, ANSWER, POLICY, trace_id="t1")
        await o.guard.close()
        await o.guard.check(QUESTION, ANSWER, POLICY, trace_id="t1")  # the same again is nothing
        await o.guard.check("Thanks!", ANSWER, POLICY, trace_id="t2")
        await o.guard.check(QUESTION, ANSWER, POLICY)
        found = {one.row.trace_id: one for one in await o.kept()}
        assert {one.evaluator for one in found.values()} == {"guard"}
        assert sorted((one.row.status, one.row.reason, one.row.label) for one in found.values()) == [
            ("scored", None, "matched"),
            ("scored", None, "matched"),
            ("skipped", "no_fact_check_needed", None),
        ]
        assert found["t1"].row.flags == ("guard_annotate",)
        assert (found["t1"].row.metric, found["t1"].row.usage.micro_dollars) == ("unsupported_spans", 7)
        await Runner(o.service, [], run_id="run").once()
        [score] = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
        assert (score["name"], score["value"], score["trace_id"]) == ("guard", 1.0, "t1")
        tallied = await o.service.store.read(work.tally)
        assert {key: n for key, n in tallied.items() if n} == {("guard", "done"): 2, ("guard", "skipped"): 1}


async def test_another_answer_of_the_same_trace_takes_the_place_of_the_first(tmp_path: Path) -> None:
    text = state(tmp_path) + local(tmp_path) + "[guard]\nsource = 'local'\n" + SIGNALS + RULES
    judge = ScriptedJudge(found=(NINETY,))
    async with opened(written(tmp_path, text), judge) as o:
        await o.guard.check(QUESTION, ANSWER, POLICY, trace_id="t1")
        await o.guard.close()
        judge.found = ()
        await o.guard.check(QUESTION, ANSWER.replace("90", "30"), POLICY, trace_id="t1")
        await o.guard.close()
        await o.guard.check(QUESTION, ANSWER, None, trace_id="t1")
        history = await o.kept(history=True)
        assert [(one.row.label, one.superseded_at is None) for one in history] == [
            ("matched", False),
            ("not_matched", False),
            (None, True),
        ]
        waiting = await o.service.store.read(outbox.tally)
        assert sum(waiting.values()) <= 1
        await Runner(o.service, [], run_id="run").once()
        written_scores = tmp_path / "scores.jsonl"
        assert not written_scores.exists() or "0.0" not in written_scores.read_text()


async def test_without_a_source_or_record_nothing_is_written(tmp_path: Path) -> None:
    judge = ScriptedJudge(found=(NINETY,))
    async with opened(written(tmp_path, state(tmp_path) + SIGNALS + RULES), judge) as o:
        await o.guard.check(QUESTION, ANSWER, POLICY, trace_id="t1")
        assert len(await o.kept()) == 1
        assert await o.service.store.read(outbox.tally) == {}
    folder = tmp_path / "none"
    folder.mkdir()
    async with opened(written(folder, state(folder) + "[guard]\nrecord = false\n" + SIGNALS + RULES)) as o:
        await o.guard.check(QUESTION, ANSWER, POLICY, trace_id="t1")
        assert await o.kept() == []


async def test_texts_are_left_out_where_none_are_stored(tmp_path: Path) -> None:
    text = state(tmp_path) + "store_text = false\n" + SIGNALS + RULES
    async with opened(written(tmp_path, text), ScriptedJudge(found=(NINETY,))) as o:
        await o.guard.check(QUESTION, ANSWER, POLICY, trace_id="t1")
        [stored] = await o.kept()
        assert stored.text_pruned
        assert "90 days" not in stored.row.model_dump_json()


async def test_a_state_that_is_away_or_slow_holds_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(written(tmp_path, state(tmp_path) + SIGNALS + RULES), ScriptedJudge(found=(NINETY,))) as o:

        def away(self: Any, tx: Connection, check: Any) -> bool:
            raise RetryLater("the state is locked")

        with monkeypatch.context() as patch:
            patch.setattr(StoredChecks, "_store", away)
            assert (await o.guard.check(QUESTION, ANSWER, POLICY)).actions == ("annotate",)
            await o.guard.close()
        assert "a check was not recorded" in caplog.text
        slow = StoredChecks._store

        def slowly(self: Any, tx: Connection, check: Any) -> bool:
            time.sleep(0.3)
            return slow(self, tx, check)

        monkeypatch.setattr(StoredChecks, "_store", slowly)
        began = time.perf_counter()
        await o.guard.check(QUESTION, ANSWER, POLICY)
        assert time.perf_counter() - began < 0.25
        assert await o.rows() == []
        await o.guard.close()
        assert len(await o.rows()) == 1


async def test_the_guard_is_opened_from_a_file_and_delivers_when_it_is_closed(tmp_path: Path) -> None:
    text = state(tmp_path) + local(tmp_path) + "[guard]\nsource = 'local'\n" + SIGNALS + RULES
    written(tmp_path, text)
    async with open_guard(tmp_path / "groundwire.toml") as guard:
        result = await guard.check(QUESTION, ANSWER, POLICY, trace_id="t1")
        assert (result.actions, result.warnings) == (("annotate",), ("ungrounded",))
    [score] = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert (score["name"], score["trace_id"]) == ("guard", "t1")
    today = datetime.now(UTC).date().isoformat()
    assert today in json.dumps(score)


async def test_the_guards_calls_pass_its_cap(tmp_path: Path) -> None:
    judge = (
        '[judges.default]\nmodel = "scripted-1"\napi_key = "made-up"\nbase_url = "http://127.0.0.1:9"\n'
        "price = { input = 1, output = 4 }\n"
    )
    text = state(tmp_path) + judge + '[guard]\ncap = { usd = 0.0, per = "day" }\n' + SIGNALS + RULES
    async with opened(written(tmp_path, text)) as o:
        result = await o.guard.check(QUESTION, ANSWER, POLICY)
        assert result.signals["ungrounded"].reason == "over_budget"
        assert result.warnings == ("ungrounded=unknown",)
    unpriced = text.replace("price = { input = 1, output = 4 }\n", "")
    async with open_service(written(tmp_path, unpriced)) as service:
        with pytest.raises(ConfigError, match="no price is known"):
            build_guard(service)
