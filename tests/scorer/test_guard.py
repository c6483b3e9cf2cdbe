"""The guard: what its configuration must be, what it asks, what it does about an answer."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.scorer.scripted import ALL, ScriptedJudge

from groundwire.scorer.errors import ConfigError, GiveUp, GroundwireError, RetryLater, SkipThis
from groundwire.scorer.evidence import View
from groundwire.scorer.guard import Guard, GuardCheck, GuardResult
from groundwire.scorer.guard.logic import evaluate
from groundwire.scorer.guard.rules import Condition, Tree
from groundwire.scorer.judge import Failure, Reply, UnsupportedSpan
from groundwire.scorer.judges.offline import OfflineJudge
from groundwire.scorer.spend import Account

DOCUMENT = """
recipes:
- name: default
  signals:
    fact_check:
    - name: needs_fact_check
    hallucination:
    - name: ungrounded
  decisions:
  - name: grounded-qa
    priority: 100
    rules:
      operator: AND
      conditions: []
    modelRefs:
    - model: answer-model
    plugins:
    - type: response_guard
      configuration:
        rules:
        - when:
            operator: AND
            conditions:
            - {type: fact_check, name: needs_fact_check}
            - {type: hallucination, name: ungrounded}
          action: annotate
          details: true
          on_unknown: annotate
"""
QUESTION = "How long can I return electronics?"
POLICY = ["Electronics can be returned within 30 days of delivery."]
ANSWER = "Electronics can be returned within 90 days."
NINETY = UnsupportedSpan(
    text="90 days", start=35, end=42, probability=0.9, type="contradiction", reason="the policy says 30 days"
)


def document(**rule: Any) -> dict[str, Any]:
    """The configuration as a router has it, its one rule changed."""
    config: dict[str, Any] = yaml.safe_load(DOCUMENT)
    rule_there = config["recipes"][0]["decisions"][0]["plugins"][0]["configuration"]["rules"][0]
    rule_there.update(rule)
    return config


def own(*rules: dict[str, Any], **signals: Any) -> dict[str, Any]:
    """The configuration in two tables."""
    return {
        "signals": {
            "fact_check": [{"name": "needs_fact_check"}],
            "hallucination": [{"name": "ungrounded"}],
            **signals,
        },
        "rules": list(rules),
    }


FACTS = {"type": "fact_check", "name": "needs_fact_check"}
UNGROUNDED = {"type": "hallucination", "name": "ungrounded"}


def both(operator: str = "AND") -> dict[str, Any]:
    return {"operator": operator, "conditions": [FACTS, UNGROUNDED]}


def unsupported(*spans: UnsupportedSpan, **more: Any) -> ScriptedJudge:
    return ScriptedJudge(found=spans or (NINETY,), **more)


@dataclass
class Notebook:
    """A recorder that remembers."""

    checks: list[GuardCheck] = field(default_factory=list)
    fails: Exception | None = None

    async def record(self, check: GuardCheck) -> None:
        if self.fails is not None:
            raise self.fails
        self.checks.append(check)


class SlowJudge(ScriptedJudge):
    """Answers when it is let."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.go = asyncio.Event()

    async def spans(self, question: str, answer: str, evidence: View) -> Reply[tuple[UnsupportedSpan, ...]]:
        await self.go.wait()
        return await super().spans(question, answer, evidence)


class BrokenJudge(ScriptedJudge):
    """Raises instead of answering."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    async def spans(self, question: str, answer: str, evidence: View) -> Reply[tuple[UnsupportedSpan, ...]]:
        raise self.error

    async def needs_facts(self, request: str) -> Reply[bool]:
        raise self.error


async def check(config: dict[str, Any], judge: ScriptedJudge | OfflineJudge, **given: Any) -> GuardResult:
    asked = {"request": QUESTION, "answer": ANSWER, "evidence": POLICY, **given}
    return await Guard.from_config(config, judges={"default": judge}).check(**asked)


# What a router's configuration says


async def test_the_document_loads_and_the_routers_own_keys_are_named() -> None:
    guard = Guard.from_config(document())
    at = "recipes.default.decisions.grounded-qa"
    assert guard.ignored == (
        f"{at}.priority: router key, ignored",
        f"{at}.rules: router key, ignored",
        f"{at}.modelRefs: router key, ignored",
    )
    config = document() | {"listeners": []}
    config["recipes"][0]["signals"]["keyword"] = [{"name": "urgent"}]
    config["recipes"][0]["decisions"][0]["plugins"].append({"type": "semantic-cache"})
    assert set(Guard.from_config(config).ignored) - set(guard.ignored) == {
        "listeners: router key, ignored",
        "recipes.default.signals.keyword: router key, ignored",
        f"{at}.plugins: semantic-cache is no guard, ignored",
    }


async def test_the_note_stands_at_the_head_of_the_answer_when_the_rule_matches() -> None:
    judge = unsupported()
    result = await check(document(), judge)
    note = (
        "Note on this answer: 1 passage of it is not supported by its sources:\n"
        "- “90 days” (contradiction: the policy says 30 days)"
    )
    assert (result.answer, result.note) == (f"{note}\n\n{ANSWER}", note)
    assert (result.actions, result.warnings) == (("annotate",), ("ungrounded",))
    assert {name: one.outcome for name, one in result.signals.items()} == {
        "needs_fact_check": "matched",
        "ungrounded": "matched",
    }
    assert [name for name, _ in judge.asked] == ["spans"]
    assert result.usage.micro_dollars == 7


async def test_the_worked_example_with_the_offline_judge() -> None:
    wrong = await check(document(), OfflineJudge())
    assert wrong.actions == ("annotate",)
    assert "90 days" in wrong.note
    assert wrong.answer.endswith(ANSWER)
    right = await check(document(), OfflineJudge(), answer=ANSWER.replace("90", "30"))
    assert (right.answer, right.actions, right.warnings) == (ANSWER.replace("90", "30"), (), ())
    assert right.signals["ungrounded"].outcome == "not_matched"


async def test_a_request_that_needs_no_facts_asks_nobody() -> None:
    judge = unsupported()
    result = await check(document(), judge, request="Thanks!")
    assert (result.answer, result.actions, judge.asked) == (ANSWER, (), [])
    assert list(result.signals) == ["needs_fact_check"]
    assert result.signals["needs_fact_check"].label == "no_fact_check_needed"


async def test_a_decision_that_reads_it_is_refused() -> None:
    config = document()
    config["recipes"][0]["decisions"][0]["rules"]["conditions"] = [UNGROUNDED]
    with pytest.raises(ConfigError, match="decision 'grounded-qa' reads hallucination 'ungrounded', which is asked"):
        Guard.from_config(config)


@pytest.mark.parametrize(
    "projections",
    [
        {"scores": [{"name": "risk", "inputs": [UNGROUNDED]}]},
        {
            "scores": [{"name": "raw", "inputs": [UNGROUNDED]}],
            "mappings": [{"name": "m", "source": "raw", "outputs": [{"name": "risk"}]}],
        },
        [{"name": "risk", "inputs": [{"type": "projection", "name": "raw"}]}, {"name": "raw", "inputs": [UNGROUNDED]}],
    ],
)
def test_a_decision_that_reads_it_through_a_projection_is_refused(projections: Any) -> None:
    config = document()
    config["recipes"][0]["projections"] = projections
    config["recipes"][0]["decisions"][0]["rules"]["conditions"] = [{"type": "projection", "name": "risk"}]
    with pytest.raises(ConfigError, match=r"reads hallucination 'ungrounded' through projection '(risk|raw)'"):
        Guard.from_config(config)
    config["recipes"][0]["decisions"][0]["rules"]["conditions"] = [{"type": "keyword", "name": "urgent"}]
    assert Guard.from_config(config).holds


async def test_only_the_guard_of_the_chosen_recipe_reads_its_own_signals() -> None:
    config = document()
    other = document(action="block", details=False)["recipes"][0] | {"name": "strict"}
    config["recipes"].append(other)
    with pytest.raises(ConfigError, match="choose one of the recipes default, strict"):
        Guard.from_config(config)
    chosen = Guard.from_config(config, recipe="strict", judges={"default": unsupported()})
    assert (await chosen.check(QUESTION, ANSWER, POLICY)).actions == ("block",)
    other["signals"] = {"fact_check": [{"name": "needs_fact_check"}]}  # the other recipe's is not this one's
    with pytest.raises(ConfigError, match="no hallucination signal is called 'ungrounded'; there are: none"):
        Guard.from_config(config, recipe="strict")
    assert Guard.from_config(config, recipe="default").holds
    with pytest.raises(ConfigError, match="no recipe is called 'lax'; there are: default, strict"):
        Guard.from_config(config, recipe="lax")


def test_one_guard_is_chosen_of_several_decisions() -> None:
    config = document()
    recipe = config["recipes"][0]
    recipe["decisions"].append({**recipe["decisions"][0], "name": "billing"})
    with pytest.raises(ConfigError, match="several have a guard; choose one of grounded-qa, billing"):
        Guard.from_config(config)
    assert Guard.from_config(config, decision="billing").holds
    with pytest.raises(ConfigError, match="no decision 'chat' with a guard"):
        Guard.from_config(config, decision="chat")
    recipe["decisions"] = [{"name": "plain", "plugins": [{"type": "semantic-cache"}]}]
    with pytest.raises(ConfigError, match="no plugin of type guard or response_guard"):
        Guard.from_config(config)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"evidence": None}, "no_evidence"),
        ({"evidence": []}, "no_evidence"),
        ({"evidence": [""]}, "no_evidence"),
        ({"answer": ""}, "no_answer"),
        ({"answer": " \n "}, "no_answer"),
    ],
)
async def test_without_context_or_text_the_rule_is_unknown_and_on_unknown_decides(
    given: dict[str, Any], reason: str
) -> None:
    judge = unsupported()
    answer = given.get("answer", ANSWER)
    noted = await check(document(), judge, **given)
    assert noted.signals["ungrounded"].reason == reason
    assert noted.answer == (f"Note on this answer: it could not be checked against its sources ({reason}).\n\n{answer}")
    assert (noted.actions, noted.warnings) == (("annotate",), ("ungrounded=unknown",))
    silent = await check(document(on_unknown="record"), judge, **given)
    assert (silent.answer, silent.actions, silent.warnings) == (answer, ("record",), ())
    assert judge.asked == []


@pytest.mark.parametrize(
    ("judge", "reason"),
    [
        (ScriptedJudge(fail={"spans": Failure(status="unknown", reason="judge_unparsable")}), "judge_unparsable"),
        (ScriptedJudge(fail={"spans": Failure(status="skipped", reason="over_budget")}), "over_budget"),
        (ScriptedJudge(fail={"spans": Failure(status="error", reason="judge_unreachable")}), "judge_unreachable"),
        (BrokenJudge(GiveUp("the key is wrong")), "judge_gave_up"),
        (BrokenJudge(RetryLater("the state is away")), "state_unavailable"),
        (BrokenJudge(RuntimeError("a bug")), "internal_error"),
    ],
)
async def test_a_judge_that_gives_no_answer_is_unknown_and_never_clean(judge: ScriptedJudge, reason: str) -> None:
    result = await check(document(), judge)
    assert (result.signals["ungrounded"].outcome, result.signals["ungrounded"].reason) == ("unknown", reason)
    assert result.actions == ("annotate",)
    assert "could not be checked" in result.answer


async def test_on_unknown_is_record_unless_set() -> None:
    config = own({"when": UNGROUNDED, "action": "block"})
    result = await check(config, unsupported(), evidence=None)
    assert (result.answer, result.actions, result.warnings) == (ANSWER, ("record",), ())


async def test_a_judge_that_is_late_is_unknown_and_its_answer_is_waited_for_at_the_end() -> None:
    judge = SlowJudge(found=(NINETY,))
    notebook = Notebook()
    config = own(
        {"when": UNGROUNDED, "action": "block", "on_unknown": "flag"},
        hallucination=[{"name": "ungrounded", "timeout_ms": 20}],
    )
    guard = Guard.from_config(config, judges={"default": judge}, recorder=notebook)
    assert guard.patience == pytest.approx(10.02)
    result = await guard.check(QUESTION, ANSWER, POLICY)
    assert (result.answer, result.actions, result.warnings) == (ANSWER, ("flag",), ("ungrounded=unknown",))
    assert result.signals["ungrounded"].reason == "timeout"
    assert 0.02 <= result.signals["ungrounded"].seconds < 1
    judge.go.set()
    await guard.close()
    [kept] = notebook.checks
    assert (kept.row.status, kept.row.reason, kept.row.flags) == ("unknown", "timeout", ("guard_flag",))
    assert [name for name, _ in judge.asked] == ["spans"]


# The judge that answers


async def test_the_default_judge_answers_unless_a_deployment_names_another() -> None:
    here, there = unsupported(), ScriptedJudge()
    config = own(
        {"when": UNGROUNDED, "action": "flag"},
        {"when": {"type": "hallucination", "name": "second"}, "action": "block"},
        hallucination=[{"name": "ungrounded"}, {"name": "second", "deployment": "strict"}],
    )
    guard = Guard.from_config(config, judges={"default": here, "strict": there})
    result = await guard.check(QUESTION, ANSWER, POLICY)
    assert (result.actions, result.warnings) == (("flag",), ("ungrounded",))
    assert result.signals["second"].outcome == "not_matched"
    assert [len(judge.asked) for judge in (here, there)] == [1, 1]
    with pytest.raises(ConfigError, match="signal 'second': no judge is called 'strict'; there are: default, offline"):
        Guard.from_config(config)


def test_a_judge_without_spans_is_refused_with_the_signals_name() -> None:
    judge = ScriptedJudge(capabilities=ALL - {"spans"})
    with pytest.raises(ConfigError, match="hallucination 'ungrounded': span_required: the llm judge marks no spans"):
        Guard.from_config(document(), judges={"default": judge})
    config = own({"when": UNGROUNDED, "action": "flag"}, hallucination=[{"name": "ungrounded", "deployment": "d3"}])
    with pytest.raises(ConfigError, match="hallucination 'ungrounded': span_required"):
        Guard.from_config(config, judges={"default": ScriptedJudge(), "d3": judge})


async def test_a_judge_that_can_not_tell_facts_is_refused_where_it_is_named() -> None:
    judge = ScriptedJudge(capabilities=ALL - {"needs_facts"})
    config = own({"when": FACTS, "action": "flag"}, fact_check=[{"name": "needs_fact_check", "deployment": "d3"}])
    with pytest.raises(ConfigError, match="fact_check 'needs_fact_check': facts_required"):
        Guard.from_config(config, judges={"d3": judge})
    unnamed = own({"when": FACTS, "action": "record", "on_unknown": "flag"})
    result = await check(unnamed, judge, request="blue horizon")
    assert (result.warnings, result.signals["needs_fact_check"].reason) == (("needs_fact_check=unknown",), "undecided")


async def test_the_question_sends_request_answer_and_context_on_the_guards_account() -> None:
    seen: list[tuple[str, str, str]] = []

    class Listening(ScriptedJudge):
        async def spans(self, question: str, answer: str, evidence: View) -> Reply[tuple[UnsupportedSpan, ...]]:
            seen.append((question, answer, "|".join(shown.text for shown in evidence.shown)))
            return await super().spans(question, answer, evidence)

    judge = Listening()
    await check(document(), judge, evidence=["one", {"limit": 30}, {"error": "not found"}], trace_id="t1")
    assert seen == [(QUESTION, ANSWER, 'one|{"limit":30}|{"error":"not found"}')]
    assert judge.accounts[-1] == Account(evaluator="guard", trace_id="t1")


async def test_the_judge_is_asked_where_the_words_of_a_request_do_not_tell() -> None:
    judge = unsupported(facts=False)
    result = await check(document(), judge, request="blue horizon")
    assert (result.actions, [name for name, _ in judge.asked]) == ((), ["needs_facts"])
    judge.facts = True
    assert (await check(document(), judge, request="blue horizon")).actions == ("annotate",)


async def test_the_predicate_is_the_least_probability() -> None:
    for predicate, outcome in ((0.9, "matched"), (0.91, "not_matched")):
        config = own(
            {"when": UNGROUNDED, "action": "flag"}, hallucination=[{"name": "ungrounded", "predicate": predicate}]
        )
        assert (await check(config, unsupported())).signals["ungrounded"].outcome == outcome


# Logic


VALUES: dict[str, bool | None] = {"t": True, "f": False, "u": None}


def tree(operator: str, names: str) -> Tree:
    conditions = [{"type": "hallucination", "name": name} for name in names]
    return Tree.model_validate({"operator": operator, "conditions": conditions})


@pytest.mark.parametrize(
    ("operator", "names", "outcome", "asked"),
    [
        ("AND", "fu", False, "f"),
        ("AND", "uf", False, "uf"),
        ("AND", "tu", None, "tu"),
        ("AND", "ut", None, "ut"),
        ("AND", "tt", True, "tt"),
        ("OR", "tu", True, "t"),
        ("OR", "ut", True, "ut"),
        ("OR", "fu", None, "fu"),
        ("OR", "ff", False, "ff"),
    ],
)
async def test_three_values(operator: str, names: str, outcome: bool | None, asked: str) -> None:
    heard: list[str] = []

    async def ask(condition: Condition) -> bool | None:
        heard.append(condition.name)
        return VALUES[condition.name]

    assert await evaluate(tree(operator, names), ask) is outcome
    assert "".join(heard) == asked


TREES: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.sampled_from("tfu").map(lambda name: {"type": "hallucination", "name": name}),
    lambda inner: st.builds(
        lambda operator, conditions: {"operator": operator, "conditions": conditions},
        st.sampled_from(["AND", "OR"]),
        st.lists(inner, min_size=1, max_size=4),
    ),
    max_leaves=12,
)


@given(TREES)
def test_any_tree_comes_out_as_least_and_greatest_of_its_values(when: dict[str, Any]) -> None:
    order = {False: 0, None: 1, True: 2}

    def expected(one: dict[str, Any]) -> bool | None:
        if "name" in one:
            return VALUES[one["name"]]
        chosen = min if one["operator"] == "AND" else max
        return chosen((expected(inner) for inner in one["conditions"]), key=order.__getitem__)

    async def ask(condition: Condition) -> bool | None:
        return VALUES[condition.name]

    found = asyncio.run(evaluate(Tree.model_validate({"operator": "and", "conditions": [when]}), ask))
    assert found is expected(when)


async def test_rules_share_what_was_asked_and_block_goes_before_annotate() -> None:
    judge = unsupported()
    config = own(
        {"when": UNGROUNDED, "action": "annotate"},
        {"when": both(), "action": "block", "details": True},
        {"when": {"operator": "OR", "conditions": [FACTS, UNGROUNDED]}, "action": "flag"},
        {"when": UNGROUNDED, "action": "record"},
    )
    result = await check(config, judge)
    assert result.actions == ("annotate", "block", "flag", "record")
    assert [name for name, _ in judge.asked] == ["spans"]
    assert result.answer.startswith(
        "This answer was held back: 1 passage of it is not supported by its sources:\n- “90"
    )
    assert ANSWER not in result.answer
    assert result.warnings == ("ungrounded",)


async def test_flag_and_record_leave_the_answer_alone() -> None:
    flagged = await check(own({"when": both(), "action": "flag"}), unsupported())
    assert (flagged.answer, flagged.actions, flagged.warnings) == (ANSWER, ("flag",), ("ungrounded",))
    recorded = await check(own({"when": both(), "action": "record"}), unsupported())
    assert (recorded.answer, recorded.actions, recorded.warnings) == (ANSWER, ("record",), ())


async def test_a_note_without_details_names_no_passage() -> None:
    result = await check(document(details=False), unsupported())
    assert result.note == "Note on this answer: 1 passage of it is not supported by its sources."


async def test_a_rule_about_the_request_alone() -> None:
    config = own({"when": {"type": "fact_check", "name": "no_fact_check_needed"}, "action": "flag"})
    config["signals"]["fact_check"] = [{"name": "no_fact_check_needed"}]
    assert (await check(config, unsupported(), request="Hello!")).warnings == ("no_fact_check_needed",)
    assert (await check(config, unsupported())).warnings == ()
    noted = own({"when": FACTS, "action": "annotate"}, hallucination=[])
    assert (await check(noted, unsupported())).note == "Note on this answer: needs_fact_check."


async def test_offsets_are_in_the_answer_as_it_was_given_and_notes_are_bounded() -> None:
    sentences = [f"Fact {n} is {'x' * 300}." for n in range(7)]
    answer = "\n  " + " ".join(sentences)
    spans = [
        UnsupportedSpan(text=one, start=-1, end=-1, probability=0.8, type="unsupported_addition", reason="r\n" * 400)
        for one in sentences
    ]
    result = await check(document(), unsupported(*spans), answer=answer)
    assert [answer[one.start : one.end] for one in result.signals["ungrounded"].spans] == sentences
    lines = result.note.splitlines()
    assert (len(lines), lines[-1]) == (7, "- and 2 more")
    assert max(map(len, lines)) < 450
    assert result.answer.endswith(answer)


# Configuration that can't be used


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "nothing is configured"),
        (own(), "rules: "),
        (
            own({"when": {"type": "hallucination", "name": "other"}, "action": "flag"}),
            "no hallucination signal is called 'other'; there are: ungrounded",
        ),
        (
            own({"when": {"type": "fact_check", "name": "ungrounded"}, "action": "flag"}),
            "no fact_check signal is called 'ungrounded'",
        ),
        (own({"when": {"type": "jailbreak", "name": "x"}, "action": "flag"}), "'x' of type 'jailbreak'; a guard reads"),
        (
            own({"when": {"operator": "NOT", "conditions": [FACTS]}, "action": "flag"}),
            "operator: Input should be 'AND' or 'OR'",
        ),
        (own({"when": {"operator": "AND", "conditions": []}, "action": "flag"}), "conditions: "),
        (own({"when": {"type": "hallucination"}, "action": "flag"}), "when.name: Field required"),
        (own({"when": UNGROUNDED, "action": "shout"}), "action: Input should be"),
        (own({"when": UNGROUNDED, "action": "flag", "detail": True}), "rules.0.detail: no such key"),
        (own({"when": UNGROUNDED}), "action: Field required"),
        (own({"when": UNGROUNDED, "action": "flag"}, hallucination=[{}]), "hallucination.0.name: Field required"),
        (
            own({"when": UNGROUNDED, "action": "flag"}, hallucination=[{"name": "ungrounded", "predicate": 1.2}]),
            "predicate",
        ),
        (
            own({"when": UNGROUNDED, "action": "flag"}, hallucination=[{"name": "ungrounded", "timeout_ms": 0}]),
            "timeout_ms",
        ),
        (own({"when": UNGROUNDED, "action": "flag"}, hallucination=[{"name": "ungrounded\r\nx: y"}]), "name: "),
        (
            own({"when": UNGROUNDED, "action": "flag"}, hallucination=[{"name": "ungrounded"}] * 2),
            "two signals are called 'ungrounded'",
        ),
        ({"recipes": []}, "choose one of the recipes"),
        ({"recipes": {"name": "x"}}, "recipes must be a list of tables"),
        ({"recipes": [{"name": "x"}]}, "no plugin of type"),
    ],
)
def test_what_can_not_be_used_is_refused_in_one_line(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Guard.from_config(config)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_cycle_is_refused() -> None:
    aliased = yaml.safe_load("when: &w {operator: AND, conditions: [*w]}\naction: flag")
    with pytest.raises(ConfigError, match="holds itself"):
        Guard.from_config(own(aliased))
    deep: dict[str, Any] = UNGROUNDED
    for _ in range(2_000):
        deep = {"operator": "AND", "conditions": [deep]}
    with pytest.raises(ConfigError, match="nested more than 32 levels"):
        Guard.from_config(own({"when": deep, "action": "flag"}))
    config = document()
    config["recipes"][0]["projections"] = [
        {"name": "a", "inputs": [{"type": "projection", "name": "b"}]},
        {"name": "b", "inputs": [{"type": "projection", "name": "a"}]},
    ]
    config["recipes"][0]["decisions"][0]["rules"]["conditions"] = [{"type": "projection", "name": "a"}]
    with pytest.raises(ConfigError, match="projection 'a' reads itself"):
        Guard.from_config(config)


async def test_evidence_that_is_neither_text_nor_json_is_refused_without_its_text() -> None:
    guard = Guard.from_config(document())
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    for evidence in (["fine", object()], [{"secret": b"hunter2"}], [nested]):
        with pytest.raises(SkipThis, match=r"evidence: entry [12] is neither text nor JSON") as caught:
            await guard.check(QUESTION, ANSWER, evidence)  # type: ignore[arg-type]
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "evidence", "said"),
    [
        ("مهلة الإرجاع ٩٠ يومًا فقط.", "مهلة الإرجاع ٣٠ يومًا.", "٩٠ يومًا"),
        ("Cafe\u0301 au lait costs 9 €.", "Café au lait: 4 €", "9 €"),
        ("Er sagte „neunzig Tage“ zu.", "dreißig Tage", '"neunzig Tage"'),
        ("| item | days |\n|---|---|\n| tv | 90 |", "tv: 30", "| tv | 90 |"),
        ("<script>alert(1)</script> 90 days", "30 days", "90 days"),
        ("90 days", "<div>30 days</div>" * 20_000, "90 days"),
        ("90 days", "QUJD" * 100_000, "90 days"),
    ],
)
async def test_odd_answers_and_evidence_have_their_outcome(answer: str, evidence: str, said: str) -> None:
    span = UnsupportedSpan(text=said, start=-1, end=-1, probability=0.9, type="contradiction")
    result = await check(document(), unsupported(span), answer=answer, evidence=[evidence])
    assert result.actions == ("annotate",)
    assert result.answer.endswith(answer)


async def test_much_text_is_read_beside_the_loop() -> None:
    evidence = [" ".join(f"Item {n} costs {n * 2} euros." for n in range(1_500))]
    answer = " ".join(f"Item {n} costs {n * 2 + 1} euros." for n in range(60))
    longest = 0.0

    async def ticking() -> None:
        nonlocal longest
        loop = asyncio.get_running_loop()
        before = loop.time()
        while True:
            await asyncio.sleep(0.001)
            longest, before = max(longest, loop.time() - before), loop.time()

    ticker = asyncio.create_task(ticking())
    result = await Guard.from_config(document()).check(QUESTION, answer, evidence)
    ticker.cancel()
    assert result.signals["ungrounded"].seconds > 0.05
    assert longest < result.signals["ungrounded"].seconds / 2
    there = await check(document(), unsupported(), answer=ANSWER + " " * 5_000)  # a judge with connections stays here
    assert there.actions == ("annotate",)


# Records


async def test_every_check_is_kept_as_one_row() -> None:
    notebook = Notebook()
    judge = unsupported()
    guard = Guard.from_config(document(), judges={"default": judge}, recorder=notebook)
    await guard.check(QUESTION, ANSWER, POLICY, trace_id="t1")
    await guard.check("Thanks!", ANSWER, POLICY)
    await guard.check(QUESTION, ANSWER, None)
    judge.found = ()
    await guard.check(QUESTION, ANSWER, POLICY)
    await guard.close()
    matched, chat, unknown, clean = notebook.checks
    row = matched.row
    assert (row.metric, row.status, row.score, row.label, row.flags) == (
        "unsupported_spans",
        "scored",
        1.0,
        "matched",
        ("guard_annotate",),
    )
    assert (row.trace_id, matched.trace_id, row.usage.micro_dollars) == ("t1", "t1", 7)
    assert row.judge["notes"] == {
        "guard": {
            "signals": {"needs_fact_check": "needs_fact_check", "ungrounded": "matched"},
            "warnings": ["ungrounded"],
        }
    }
    assert [claim.text for claim in row.claims] == ["90 days"]
    assert (chat.row.status, chat.row.reason, chat.trace_id) == ("skipped", "no_fact_check_needed", None)
    assert (unknown.row.status, unknown.row.reason, unknown.row.score) == ("unknown", "no_evidence", None)
    assert (clean.row.status, clean.row.score, clean.row.flags) == ("scored", 0.0, ())
    assert len({check.row.partition_id for check in notebook.checks}) == 4


async def test_a_record_that_fails_is_logged_without_text_and_the_answer_is_given(
    caplog: pytest.LogCaptureFixture,
) -> None:
    notebook = Notebook(fails=GroundwireError("hunter2"))
    guard = Guard.from_config(document(), judges={"default": unsupported()}, recorder=notebook)
    result = await guard.check(QUESTION, ANSWER, POLICY)
    await guard.close()
    assert result.actions == ("annotate",)
    assert "a check was not recorded" in caplog.text
    assert "hunter2" not in caplog.text


# Streams


async def pieces(*texts: str, dies: Exception | None = None) -> AsyncIterator[str]:
    for text in texts:
        await asyncio.sleep(0)
        yield text
    if dies is not None:
        raise dies


async def test_a_stream_is_held_until_it_was_checked_where_a_rule_can_write() -> None:
    for rule, held in (
        ({"action": "annotate"}, True),
        ({"action": "flag", "on_unknown": "annotate"}, True),
        ({"action": "block"}, True),
        ({"action": "flag"}, False),
        ({"action": "record"}, False),
    ):
        assert Guard.from_config(own({"when": both(), **rule})).holds is held
    judge = SlowJudge(found=(NINETY,))
    guard = Guard.from_config(document(), judges={"default": judge})
    stream = guard.stream(pieces(ANSWER[:20], ANSWER[20:]), request=QUESTION, evidence=POLICY)
    got: list[str] = []

    async def read() -> None:
        async for piece in stream:
            got.append(piece)  # noqa: PERF401 - what has come by now is looked at

    reading = asyncio.create_task(read())
    await asyncio.sleep(0.02)
    assert got == []
    judge.go.set()
    await reading
    result = await stream.result()
    assert got == [f"{result.note}\n\n", ANSWER[:20], ANSWER[20:]]
    assert "".join(got) == result.answer


async def test_a_held_stream_without_a_finding_is_given_as_it_came() -> None:
    guard = Guard.from_config(document(), judges={"default": ScriptedJudge()})
    stream = guard.stream(pieces("30 ", "days"), request=QUESTION, evidence=POLICY)
    assert [piece async for piece in stream] == ["30 ", "days"]
    assert (await stream.result()).actions == ()


async def test_a_blocked_stream_gives_the_notice_alone() -> None:
    guard = Guard.from_config(document(action="block", details=False), judges={"default": unsupported()})
    stream = guard.stream(pieces(ANSWER), request=QUESTION, evidence=POLICY)
    assert [piece async for piece in stream] == [
        "This answer was held back: 1 passage of it is not supported by its sources."
    ]


async def test_a_stream_stays_live_where_rules_only_flag_or_record_and_is_recorded_when_it_ends() -> None:
    judge, notebook = SlowJudge(found=(NINETY,)), Notebook()
    guard = Guard.from_config(own({"when": both(), "action": "flag"}), judges={"default": judge}, recorder=notebook)
    stream = guard.stream(pieces(ANSWER[:20], ANSWER[20:]), request=QUESTION, evidence=POLICY, trace_id="t1")
    assert [piece async for piece in stream] == [ANSWER[:20], ANSWER[20:]]  # its end doesn't wait for the judge
    assert notebook.checks == []
    judge.go.set()
    result = await stream.result()
    assert (result.answer, result.warnings) == (ANSWER, ("ungrounded",))
    await guard.close()
    [kept] = notebook.checks
    assert (kept.row.label, kept.row.flags, kept.trace_id) == ("matched", ("guard_flag",), "t1")


@pytest.mark.parametrize("action", ["annotate", "flag"])
async def test_a_stream_that_dies_in_the_middle_has_its_outcome(action: str) -> None:
    judge, notebook = unsupported(), Notebook()
    config = own({"when": both(), "action": action, "on_unknown": action})
    guard = Guard.from_config(config, judges={"default": judge}, recorder=notebook)
    stream = guard.stream(
        pieces("Electronics ", "can", dies=ConnectionError("reset")), request=QUESTION, evidence=POLICY
    )
    got: list[str] = []

    async def read() -> None:
        async for piece in stream:
            got.append(piece)  # noqa: PERF401 - what came before the end counts

    with pytest.raises(ConnectionError):
        await read()
    assert got == ([] if action == "annotate" else ["Electronics ", "can"])
    result = await stream.result()
    assert (result.signals["ungrounded"].reason, result.actions) == ("incomplete", (action,))
    assert judge.asked == []
    await guard.close()
    [kept] = notebook.checks
    assert (kept.row.status, kept.row.reason) == ("unknown", "incomplete")


@pytest.mark.parametrize("action", ["annotate", "flag"])
async def test_a_reader_that_leaves_or_is_cancelled_ends_it_as_incomplete(action: str) -> None:
    async def endless() -> AsyncIterator[str]:
        while True:
            yield "word "
            await asyncio.sleep(0.001)

    notebook = Notebook()
    guard = Guard.from_config(
        own({"when": both(), "action": action}), judges={"default": unsupported()}, recorder=notebook
    )
    left = guard.stream(endless(), request=QUESTION, evidence=POLICY)
    if action == "flag":
        async for _ in left:
            break
    await left.aclose()
    assert (await left.result()).signals["ungrounded"].reason == "incomplete"
    cancelled = guard.stream(endless(), request=QUESTION, evidence=POLICY)

    async def read() -> None:
        async for _ in cancelled:
            pass

    reading = asyncio.create_task(read())
    await asyncio.sleep(0.01)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await guard.close()
    assert [check.row.reason for check in notebook.checks] == ["incomplete", "incomplete"]


async def test_an_empty_stream_is_an_answer_without_text() -> None:
    guard = Guard.from_config(document(), judges={"default": unsupported()})
    stream = guard.stream(pieces(), request=QUESTION, evidence=POLICY)
    assert [piece async for piece in stream] == [
        "Note on this answer: it could not be checked against its sources (no_answer).\n\n"
    ]


async def test_what_can_not_be_known_of_an_answer_is_decided_without_asking() -> None:
    judge = unsupported()
    guard = Guard.from_config(document(), judges={"default": judge})
    result = await guard.unchecked(ANSWER, "timeout")
    assert (result.actions, {one.reason for one in result.signals.values()}, judge.asked) == (
        ("annotate",),
        {"timeout"},
        [],
    )
    assert result.answer.endswith(ANSWER)
