"""The `decision` judge: a System One model answers typed questions with probabilities and writes no text.

Claims come from the offline splitter; each is one `choice` over the four labels, all in one call. The model gives no
quotes: where a claim has evidence it was found by alignment, and the row says so (`evidence_by_alignment`).
"""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar, get_args

from groundwire.scorer.claims import Claim, DraftClaim, Label
from groundwire.scorer.errors import ConfigError, GiveUp
from groundwire.scorer.evidence import View
from groundwire.scorer.fence import injections
from groundwire.scorer.judge import (
    Capability,
    Dimensions,
    Failure,
    Faithfulness,
    JudgeVersion,
    Reply,
    UnsupportedSpan,
    Verdict,
)
from groundwire.scorer.judges.asking import Tally, TooLong, fitted
from groundwire.scorer.judges.calls import Deadline
from groundwire.scorer.judges.config import DecisionJudgeConfig
from groundwire.scorer.judges.decisions import DecisionAnswer, DecisionEndpoint
from groundwire.scorer.judges.endpoint import failure_of
from groundwire.scorer.judges.faults import Fault
from groundwire.scorer.judges.offline import OfflineJudge
from groundwire.scorer.prices import Price
from groundwire.scorer.redaction import Redaction
from groundwire.scorer.spend import Account

__all__ = ["DecisionJudge", "decision_version"]

T = TypeVar("T")

CAPABILITIES: frozenset[Capability] = frozenset({"split", "label", "faithfulness", "classify", "needs_facts"})

LABEL_CRITERIA: Mapping[Label, str] = {
    "supported": "the evidence states it, in whatever words, units or language",
    "inferred": "the evidence does not state it, but it follows by arithmetic, comparison or summary",
    "model_knowledge": "general knowledge, not about this case, and no evidence contradicts it",
    "hallucinated": "the evidence contradicts it, or it says something about this case that no evidence gives; "
    "a failed tool, a plan and the assistant's own words prove nothing",
}
GROUNDED = {
    "true": "it says something specific to this situation that no user message, tool result or provided content gives",
    "false": "every such statement restates the record or follows from it; general knowledge is allowed",
}
FACTS = {
    "true": "a good answer states things that can be checked against sources",
    "false": "chat, opinion, creative writing, or editing of given text",
}
LEVELS = ["none of it", "little of it", "half of it", "most of it", "all of it, or there is nothing to judge"]
DIMENSIONS = {
    "numeric": "How much of the answer's numbers, amounts and dates agrees with the evidence?",
    "categorical": "How much of the answer's names, statuses and categories agrees with the evidence?",
    "no_fabrication": "How much of what the answer says about this case is in the evidence?",
    "completeness": "How much of what was asked, and is in the evidence, does the answer give?",
}

_LABELS: tuple[Label, ...] = get_args(Label)


def decision_version(config: DecisionJudgeConfig) -> JudgeVersion:
    """The identity of a `decision` judge: what was configured, and the wording of the questions."""
    wording = json.dumps([LABEL_CRITERIA, GROUNDED, FACTS, LEVELS, DIMENSIONS], ensure_ascii=False)
    parameters: dict[str, Any] = {"endpoint": config.endpoint}
    parameters["redact"] = [kind if isinstance(kind, str) else kind.model_dump() for kind in config.redact]
    return JudgeVersion(
        kind="decision",
        model=config.model,
        prompt_digest=hashlib.sha256(wording.encode()).hexdigest()[:12],
        parameters=parameters,
    )


@dataclass(kw_only=True)
class DecisionJudge:
    """Labels, scores and classifies by asking a decision model. See `LLMJudge` for what `bound` binds."""

    config: DecisionJudgeConfig
    endpoint: DecisionEndpoint
    version: JudgeVersion
    account: Account = field(default_factory=Account)
    redaction: Redaction = field(default_factory=Redaction)
    _rules: OfflineJudge = field(default_factory=OfflineJudge)
    _until: float | None = None

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Neither quotes nor spans: it writes no text."""
        return CAPABILITIES

    @property
    def price(self) -> Price | None:
        """What the model costs; None where it isn't known, and then no cap can be kept."""
        return self.endpoint.calls.price

    def bound(self, account: Account) -> Self:
        """See `Judge.bound`."""
        return replace(self, account=account, redaction=Redaction(kinds=self.config.redact), _until=None)

    async def close(self) -> None:
        """Close the connections; the judge can be used again."""
        await self.endpoint.close()

    async def split(self, question: str, answer: str) -> Reply[tuple[DraftClaim, ...]]:
        """See `Judge.split`; the offline splitter's, without a call."""
        return await self._rules.split(question, answer)

    async def label(self, question: str, claims: Sequence[DraftClaim], evidence: View) -> Reply[tuple[Claim, ...]]:
        """See `Judge.label`. A claim that the model gave no valid answer for has no label."""
        tally = self._tally({"question": question, "answer": "\n".join(claim.text for claim in claims)}, evidence)
        if not claims:
            return tally.reply(())
        names = [f"C{index + 1}" for index in range(len(claims))]
        questions = {
            name: {"type": "choice", "instructions": f"Which holds for claim {name}?", "criteria": LABEL_CRITERIA}
            for name in names
        }

        async def ask(view: View) -> tuple[Claim, ...] | Failure:
            hidden = {name: self._hide(claim.text) for name, claim in zip(names, claims, strict=True)}
            state = {**self._state(question, view), "claims": hidden}
            answers = await self.endpoint.ask(state, questions, tally)
            if isinstance(answers, Failure):
                return answers
            aligned = (await self._rules.label(question, claims, view)).value or ()
            if aligned:
                tally.flags.add("evidence_by_alignment")
            tally.notes["probabilities"] = {name: dict(_probabilities(answer)) for name, answer in answers.items()}
            return tuple(
                _labelled(claim, answers.get(name), near)
                for name, claim, near in zip(names, claims, aligned, strict=True)
            )

        return self._counted(await fitted(evidence, ask, tally, lambda _: self._too_long()), tally)

    async def faithfulness(self, question: str, answer: str, evidence: View) -> Reply[Faithfulness]:
        """See `Judge.faithfulness`: one `score` question a dimension; no statements are named."""
        tally = self._tally({"question": question, "answer": answer}, evidence)
        questions = {
            name: {"type": "score", "instructions": text, "criteria": LEVELS} for name, text in DIMENSIONS.items()
        }

        async def ask(view: View) -> Faithfulness | Failure:
            state = {**self._state(question, view), "answer": self._hide(answer)}
            answers = await self.endpoint.ask(state, questions, tally)
            if isinstance(answers, Failure):
                return answers
            scores = {name: _level(answers.get(name)) for name in DIMENSIONS}
            known = {name: score for name, score in scores.items() if score is not None}
            if len(known) < len(scores):
                return _unparsable()
            return Faithfulness(dimensions=Dimensions(**known), explanation="by a decision model, without reasons")

        return self._counted(await fitted(evidence, ask, tally, lambda _: self._too_long()), tally)

    async def classify(self, transcript: str, output: str) -> Reply[Verdict]:
        """See `Judge.classify`: one `noul` question; hallucinated from a probability of 0.5."""
        tally = self._tally({"transcript": transcript, "answer": output})
        state = {"record": self._hide(transcript), "response": self._hide(output)}
        probability = await self._probability(
            "hallucinated", "The response goes beyond its record.", GROUNDED, state, tally
        )
        if isinstance(probability, Failure):
            return tally.reply(probability)
        return self._counted(
            tally.reply(
                Verdict(
                    label="hallucinated" if probability >= 0.5 else "grounded",
                    explanation=f"decision model, without reasons: hallucinated with probability {probability:.2f}",
                    probability=probability,
                )
            ),
            tally,
        )

    async def spans(
        self,
        question: str,  # noqa: ARG002 - the protocol's signature
        answer: str,  # noqa: ARG002 - as above
        evidence: View,  # noqa: ARG002 - as above
    ) -> Reply[tuple[UnsupportedSpan, ...]]:
        """Not among the capabilities."""
        return Reply(failure=Failure(status="error", reason="judge_not_capable", message="it can't mark spans"))

    async def needs_facts(self, request: str) -> Reply[bool]:
        """See `Judge.needs_facts`: one `noul` question."""
        tally = self._tally({"question": request})
        state = {"request": self._hide(request)}
        probability = await self._probability("needs_facts", "The request needs facts.", FACTS, state, tally)
        reply = tally.reply(probability if isinstance(probability, Failure) else probability >= 0.5)
        return self._counted(reply, tally)

    async def probe(self) -> None:
        """One cheap call. Raises `ConfigError` with a line that says what to mend."""
        tally = self._tally({})
        tally.deadline.patient = False
        try:
            outcome = await self._probability(
                "ok", "The state is ok.", {"true": "ok", "false": "not ok"}, {"is": "ok"}, tally
            )
        except GiveUp as error:
            raise ConfigError(str(error)) from None
        if isinstance(outcome, Failure) and outcome.status != "skipped":
            raise ConfigError(f"judge: {outcome.message or outcome.reason}; check base_url and model")

    async def _probability(
        self, name: str, instructions: str, criteria: Mapping[str, str], state: Mapping[str, Any], tally: Tally
    ) -> float | Failure:
        question = {"type": "noul", "instructions": instructions, "criteria": criteria}
        try:
            answers = await self.endpoint.ask(state, {name: question}, tally)
        except TooLong:
            return self._too_long()
        if isinstance(answers, Failure):
            return answers
        answer = answers.get(name)
        if answer is None or answer.noul is None or not 0 <= answer.noul <= 1:
            return _unparsable()
        return answer.noul

    def _state(self, question: str, view: View) -> dict[str, Any]:
        evidence = [
            {
                "id": shown.block.name,
                "kind": shown.block.kind,
                "failed": shown.block.failed,
                "text": self._hide(shown.text, shown.block.text),
            }
            for shown in view.shown
            if shown.text or shown.block.failed
        ]
        return {"question": self._hide(question), "evidence": evidence}

    def _hide(self, text: str, whole: str | None = None) -> str:
        return self.redaction.hide(text, whole=whole).text

    def _tally(self, texts: Mapping[str, str], view: View | None = None) -> Tally:
        if self._until is None:
            self._until = asyncio.get_running_loop().time() + self.config.partition_seconds
        tally = Tally(account=self.account, deadline=Deadline(partition=self._until))
        shown = {block.block.name: block.block.text for block in view.shown} if view else {}
        found = injections({**texts, **shown})
        if found:
            tally.flags.add("injection_suspected")
            tally.notes["injection_suspected_in"] = list(found)
        return tally

    def _counted(self, reply: Reply[T], tally: Tally) -> Reply[T]:
        """The reply with what was redacted for it."""
        if self.redaction.counts:
            tally.notes["redacted"] = dict(self.redaction.counts)
        return replace(reply, notes=dict(tally.notes))

    def _too_long(self) -> Failure:
        return failure_of(Fault("overflow"), self.config)


def _labelled(draft: DraftClaim, answer: DecisionAnswer | None, aligned: Claim) -> Claim:
    base = Claim(text=draft.text, start=draft.start, end=draft.end)
    label = next((word for word in _LABELS if answer is not None and answer.choice == word), None)
    if answer is None or label is None:
        return base.model_copy(update={"reason": "not_labelled"})
    probabilities = _probabilities(answer)
    sure = f" with probability {probabilities[label]:.2f}" if label in probabilities else ""
    proven = label in ("supported", "inferred")
    return base.model_copy(
        update={
            "label": label,
            "reason": f"decision model: {label}{sure}; evidence by alignment"
            if proven
            else f"decision model: {label}{sure}",
            "probability": probabilities.get("hallucinated"),
            "evidence": aligned.evidence if proven else None,
        }
    )


def _probabilities(answer: DecisionAnswer) -> dict[str, float]:
    """The probabilities of the labels, those that are any."""
    given = answer.probabilities if isinstance(answer.probabilities, Mapping) else {}
    return {
        word: float(given[word])
        for word in _LABELS
        if isinstance(given.get(word), int | float) and 0 <= given[word] <= 1
    }


def _level(answer: DecisionAnswer | None) -> float | None:
    """An expected level as a share in [0, 1]."""
    top = len(LEVELS) - 1
    if answer is None or answer.score is None or not 0 <= answer.score <= top:
        return None
    return answer.score / top


def _unparsable() -> Failure:
    return Failure(status="unknown", reason="judge_unparsable", message="the decision model gave no valid answer")
