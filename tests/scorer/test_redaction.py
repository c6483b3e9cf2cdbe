"""What leaves the process is what redaction left, and verdicts don't change by it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.scorer.judging import judge_of
from tests.scorer.openai_server import Fault, JudgeServer

from groundwire.scorer.claims import DraftClaim
from groundwire.scorer.errors import ConfigError
from groundwire.scorer.evidence import Block, Limits, fit
from groundwire.scorer.judges.config import LLMJudgeConfig
from groundwire.scorer.judges.registry import build_judge
from groundwire.scorer.redaction import Pattern, Redact, Redaction

ALL: tuple[Redact, ...] = ("email", "phone", "card", "iban", "ip", "key")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("email", "jan.de-vries+x@mail.example.co.uk"),
        ("email", "李雷@例子.公司"),
        ("phone", "+49 30 901820"),
        ("phone", "(555) 123-4567"),
        ("phone", "0151 23456789"),
        ("card", "4111 1111 1111 1111"),
        ("card", "5500-0000-0000-0004"),
        ("iban", "DE89 3704 0044 0532 0130 00"),
        ("iban", "GB82WEST12345698765432"),
        ("ip", "192.168.10.254"),
        ("ip", "2001:db8::ff00:42:8329"),
        ("key", "sk-proj-abcdefghijklmnop1234"),
        ("key", "ghp_abcdefghijklmnopqrst0123456789"),
        ("key", "AKIAIOSFODNN7EXAMPLE"),
    ],
)
def test_values_are_replaced(kind: Redact, value: str) -> None:
    redaction = Redaction(kinds=ALL)
    hidden = redaction.hide(f"Write to {value}, please.")
    assert hidden.text == f"Write to [{str(kind).upper()}_1], please."
    assert redaction.show(hidden.text) == hidden.original
    assert redaction.counts == {kind: 1}


@pytest.mark.parametrize(
    "text",
    [
        "Order 4111111111111112 of 2026-11-30 cost 1,234.56 euros.",
        "The meeting is at 18:40 on 30.11.2026 in room B17.",
        "Version 1.2.3 and build 12345678 were released.",
        "Flight KL 1234, 12 bags, 500 kg.",
    ],
)
def test_other_numbers_stay(text: str) -> None:
    assert Redaction(kinds=ALL).hide(text).text == text


def test_the_same_value_has_the_same_stand_in_however_it_is_written() -> None:
    redaction = Redaction(kinds=ALL)
    assert redaction.hide("+1 (555) 123-4567").text == redaction.hide("(555) 123-4567").text == "[PHONE_1]"
    assert redaction.hide("A@B.example").text == redaction.hide("a@b.example").text == "[EMAIL_1]"
    assert redaction.hide("c@b.example").text == "[EMAIL_2]"


def test_a_pattern_of_ones_own_goes_first() -> None:
    redaction = Redaction(kinds=(Pattern(name="order", pattern=r"ORD-\d{6}"), "email"))
    assert redaction.hide("ORD-123456 for a@b.example").text == "[ORDER_1] for [EMAIL_1]"


@pytest.mark.parametrize(("name", "pattern"), [("Order", "x"), ("order", "("), ("order", "x*"), ("order", "")])
def test_a_pattern_that_cannot_work_is_refused(name: str, pattern: str) -> None:
    with pytest.raises(ValidationError):
        Pattern(name=name, pattern=pattern)


def test_a_value_that_a_cut_went_through_does_not_slip_out() -> None:
    text = "Please contact jan.devries@example.com about it. " * 40
    for total in range(300, 340):
        shown = fit([Block(name="E1", kind="tool", text=text)], Limits(response=total)).shown[0].text
        hidden = Redaction(kinds=("email",)).hide(shown, whole=text).text
        assert "devries" not in hidden
        assert "jan" not in hidden


@given(
    st.text(alphabet="ab @.c1[]_EMAIL\n", max_size=60), st.lists(st.sampled_from([" a@b.example ", " x "]), max_size=4)
)
def test_offsets_lead_back(text: str, pieces: list[str]) -> None:
    original = text.join(pieces) if pieces else text
    hidden = Redaction(kinds=("email",)).hide(original)
    assert hidden.origin(0, len(hidden.text)) == (0, len(original))
    for start, end, original_start, original_end in hidden.edits:
        assert hidden.origin(start, end) == (original_start, original_end)
        if start:
            assert hidden.origin(0, start) == (0, original_start)
        assert hidden.text[:start].count("[EMAIL") >= 0


async def test_verdicts_quotes_and_offsets_are_those_of_the_original(judge_server: JudgeServer) -> None:
    answer = "The account of jan@example.com is blocked. The phone number is +31 20 123 4567."
    block = Block(
        name="E1",
        kind="tool",
        span_id="s1",
        text='{"user":"Jan@Example.com","status":"blocked","phone":"020 123 4567"}',
    )
    question = "Is jan@example.com blocked?"
    plain, redacting = judge_of(judge_server), judge_of(judge_server, redact=("email", "phone"))
    verdicts = []
    for judge in (plain, redacting):
        split = await judge.split(question, answer)
        assert split.value is not None
        assert all(answer[claim.start : claim.end] == claim.text for claim in split.value)
        labels = await judge.label(question, split.value, fit([block], Limits()))
        assert labels.value is not None
        verdicts.append([claim.text for claim in labels.value])
        for claim in labels.value:
            if claim.evidence is not None and claim.evidence.verified:
                assert claim.evidence.quote in block.text
    assert verdicts[0] == verdicts[1]
    assert labels.notes["redacted"] == {"email": 1, "phone": 1}
    sent = [call.user for call in judge_server.calls[2:]]
    assert sent
    for user in sent:
        assert "example.com" not in user.lower()
        assert "123 4567" not in user
        assert "[EMAIL_1]" in user


async def test_what_the_judge_writes_has_its_values_back(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server, redact=("email",))
    judge_server.faults.append(
        Fault(
            change=lambda form: {
                "labels": [
                    {
                        "id": "C1",
                        "label": "supported",
                        "reason": "[EMAIL_1] is blocked",
                        "block": "E1",
                        "quote": "user [EMAIL_1]",
                    }
                ]
            }
        )
    )
    view = fit([Block(name="E1", kind="tool", text="user Jan@example.com is blocked")], Limits())
    reply = await judge.label("", [DraftClaim(text="jan@example.com is blocked.")], view)
    assert reply.value is not None
    assert reply.value[0].reason == "Jan@example.com is blocked"
    assert reply.value[0].evidence is not None
    assert reply.value[0].evidence.quote == "user Jan@example.com", "the evidence's own spelling"


def test_presidio_must_be_installed_to_be_used() -> None:
    config = LLMJudgeConfig(model="m", base_url="http://127.0.0.1:1/v1", redact=("presidio",))
    with pytest.raises(ConfigError, match="presidio is not installed"):
        build_judge(config)


def test_presidio_is_asked_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the package, with its interface: `AnalyzerEngine().analyze(text=, language=)`."""
    import sys
    from types import ModuleType, SimpleNamespace

    from groundwire.scorer import redaction

    class AnalyzerEngine:
        def analyze(self, text: str, language: str) -> list[SimpleNamespace]:
            at = text.find("Jan")
            return [SimpleNamespace(start=at, end=at + 3, entity_type="PERSON")] if at >= 0 else []

    module = ModuleType("presidio_analyzer")
    module.AnalyzerEngine = AnalyzerEngine  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "presidio_analyzer", module)
    redaction._analyzer.cache_clear()
    try:
        assert Redaction(kinds=("presidio",)).hide("Jan paid.").text == "[PERSON_1] paid."
    finally:
        redaction._analyzer.cache_clear()
