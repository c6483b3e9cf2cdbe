"""Whether a request needs facts: the rules say "no" only where nothing else is asked; the judge decides the rest."""

import pytest
from tests.scorer.scripted import ALL, ScriptedJudge

from groundwire.scorer.fact_check import check_facts, read_request
from groundwire.scorer.judge import Failure
from groundwire.scorer.judges.offline import OfflineJudge

READ = {
    "Hello there!": "small_talk",
    "Thanks a lot, bye": "small_talk",
    "How are you?": "small_talk",
    "Wie geht's?": "small_talk",
    "Comment ça va ?": "small_talk",
    "¡Muchas gracias!": "small_talk",
    "你好！": "small_talk",
    "ありがとうございます": "small_talk",
    "Write a poem about the sea": "creative",
    "Tell me a joke": "creative",
    "Schreibe ein Gedicht über den Herbst": "creative",
    "Raconte-moi une histoire": "creative",
    "Escribe un cuento corto": "creative",
    "讲个笑话": "creative",
    "Translate to French: Where is my order?": "transformation",
    "Please rewrite this in plain words:\nThe party of the first part …": "transformation",
    "Translate “Where is my order?” into German": "transformation",
    "Übersetze ins Englische: Guten Tag": "transformation",
    "请翻译成英文：退货期是多少天": "transformation",
    "How much is the fare?": "question",
    "Is my flight on time": "question",
    "List the open invoices": "question",
    "Ok, and what about my order?": "question",
    "Wann fährt der Zug?": "question",
    "¿Cuánto cuesta?": "question",
    "Quel est le délai de retour ?": "question",
    "退货期是多少天": "question",
}


@pytest.mark.parametrize("request_text", READ)
def test_the_rules_tell_what_is_plain(request_text: str) -> None:
    assert read_request(request_text) == READ[request_text]


@pytest.mark.parametrize(
    "request_text",
    [
        "Yes, please",  # may confirm a booking
        "ok",
        "Cancel my subscription",
        "What do you think?",
        "Write a story about our return policy, and when it ends",  # asks for a fact as well
        "Write a poem based on the attached contract",
        "Write a true story about Rome",
        "Translate the Magna Carta",  # no text is given
        "blue horizon",
    ],
)
def test_the_rules_leave_open_what_is_not(request_text: str) -> None:
    assert read_request(request_text) is None


@pytest.mark.parametrize(
    "request_text",
    [
        'Translate "Hallo". Who wrote it?',
        "Summarize: the meeting was moved to Friday",  # a summary states facts of its source
        "Thanks! Where is my parcel?",
    ],
)
def test_a_question_beside_something_else_is_a_question(request_text: str) -> None:
    assert read_request(request_text) == "question"


async def test_the_judge_is_asked_only_where_the_rules_do_not_tell() -> None:
    judge = ScriptedJudge(facts=False)
    plain = await check_facts("Where is my order?", judge)
    assert (plain.label, plain.by, plain.kind, judge.asked) == ("needs_fact_check", "rules", "question", [])
    chat = await check_facts("Hello!", judge)
    assert (chat.label, chat.by, chat.kind, judge.asked) == ("no_fact_check_needed", "rules", "small_talk", [])
    asked = await check_facts("blue horizon", judge)
    assert (asked.label, asked.by, asked.usage.calls) == ("no_fact_check_needed", "judge", 1)
    judge.facts = True
    assert (await check_facts("blue horizon", judge)).label == "needs_fact_check"
    assert [name for name, _ in judge.asked] == ["needs_facts", "needs_facts"]


async def test_what_nobody_can_tell_is_unknown() -> None:
    failing = ScriptedJudge(fail={"needs_facts": Failure(status="skipped", reason="over_budget")})
    for judge, reason in (
        (None, "undecided"),
        (OfflineJudge(), "undecided"),
        (ScriptedJudge(capabilities=ALL - {"needs_facts"}), "undecided"),
        (failing, "over_budget"),
    ):
        found = await check_facts("blue horizon", judge)
        assert found.label == "unknown"
        assert found.failure is not None
        assert found.failure.reason == reason
    empty = await check_facts("  ", ScriptedJudge(facts=True))
    assert (empty.label, empty.failure and empty.failure.reason) == ("unknown", "no_request")


async def test_a_long_request_is_read_quickly() -> None:
    assert read_request("Translate: " + "what is " * 500_000) == "transformation"
    assert read_request("translate " * 100_000) is None
    assert read_request("hi " * 100_000) is None
    assert read_request("write a " * 100_000 + "poem") is None
