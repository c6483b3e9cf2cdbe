"""Made-up agent traces whose right answers are known by how they were made."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from random import Random
from typing import Any, Literal

from groundwire.connectors.trace import Trace
from groundwire.scorer import Message, Span, TextPart, ToolCallPart, ToolCallResponsePart

__all__ = ["Sample", "SampleKind", "make_sample", "make_samples"]

SampleKind = Literal["grounded", "hallucinated", "invalid"]

_PRODUCTS = ("kettle", "lamp", "desk", "chair", "bicycle", "tent", "radio", "blanket")
_CITIES = ("Lisbon", "Osaka", "Tromsø", "Quito", "Gdańsk", "Nairobi", "Perth", "Leeds")
_INVENTED = (1009, 1103, 1213, 1327, 1423, 1511, 1613, 1709, 1811, 1907)
"""Primes beyond any sum of true figures: no arithmetic on the evidence yields one."""
_CARRIERS = ("Northpost", "Bluewagon", "Hermelin", "Quickmule")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A trace and what must be said about it by `agent.hallucination` on the trace level."""

    trace: Trace
    kind: SampleKind
    score: float | None
    """In [0, 1]: the share of the four claims that the tool results bear out; None where the shape is invalid."""
    invented: tuple[str, ...] = ()
    """The sentences of the answer that no tool result supports, verbatim."""
    rule: str | None = None
    """The rule that an invalid trace breaks: `no_tool` or `orchestrator_subagent`."""


def make_samples(
    count: int,
    *,
    seed: int = 0,
    first_end: datetime = datetime(2026, 11, 1, tzinfo=UTC),
    spacing: timedelta = timedelta(seconds=1),
    hallucinated: float = 0.3,
    invalid: float = 0.1,
) -> Iterator[Sample]:
    """`count` samples, one by one, each the same for the same seed and index; their roots end `spacing` apart.

    `hallucinated` and `invalid` are shares in [0, 1]; the rest are grounded.
    """
    for index in range(count):
        drawn = Random(f"{seed}:{index}:kind").random()
        kind: SampleKind = (
            "invalid" if drawn < invalid else "hallucinated" if drawn < invalid + hallucinated else "grounded"
        )
        yield make_sample(index, seed=seed, kind=kind, end=first_end + index * spacing)


def make_sample(index: int, *, seed: int = 0, kind: SampleKind = "grounded", end: datetime) -> Sample:
    """One sample: a question about an order, two tools, an answer of four sentences, six seconds in all."""
    random = Random(f"{seed}:{index}:body")
    trace_id = sha256(f"{seed}:{index}".encode()).hexdigest()[:32]
    order = f"{random.choice('ABCDEFGH')}-{random.randint(1000, 9999)}"
    product, city, carrier = random.choice(_PRODUCTS), random.choice(_CITIES), random.choice(_CARRIERS)
    parcel = f"{carrier[0]}P-{random.randint(10_000, 99_999)}"
    total, weight = random.randint(11, 480), random.randint(2, 60)
    sentences = [
        f"Order {order} holds one {product}.",
        f"It cost {total} euros.",
        f"Its tracking number with {carrier} is {parcel}.",
        f"The parcel to {city} weighs {weight} kg.",
    ]
    invented: tuple[str, ...] = ()
    if kind == "hallucinated":
        wrong = random.sample((1, 3), k=random.randint(1, 2))
        for at in wrong:
            number = total if at == 1 else weight
            sentences[at] = sentences[at].replace(str(number), str(random.choice(_INVENTED)))
        invented = tuple(sentences[at] for at in sorted(wrong))
    rule = random.choice(("no_tool", "orchestrator_subagent")) if kind == "invalid" else None
    trace = Trace(
        trace_id=trace_id,
        spans=_spans(
            trace_id,
            end=end,
            question=f"What is the state of my order {order}?",
            answer=" ".join(sentences),
            tools=(
                ("find_order", {"order": order}, {"order": order, "item": product, "total_eur": total}),
                (
                    "track_parcel",
                    {"order": order},
                    {"tracking_number": parcel, "carrier": carrier, "destination": city, "weight_kg": weight},
                ),
            ),
            rule=rule,
        ),
        source="synthetic",
        name="order-agent",
        environment="production",
        tags=("orders", f"batch-{index % 10}"),
        user_id=f"user-{index % 97}",
        session_id=f"session-{seed}-{index // 3}",
        release="1.0",
        metadata={"index": index},
    )
    score = None if kind == "invalid" else (4 - len(invented)) / 4
    return Sample(trace=trace, kind=kind, score=score, invented=invented, rule=rule)


def _spans(
    trace_id: str,
    *,
    end: datetime,
    question: str,
    answer: str,
    tools: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...],
    rule: str | None,
) -> tuple[Span, ...]:
    def at(seconds: float) -> datetime:
        return end - timedelta(seconds=6 - seconds)

    def named(name: str) -> str:
        return sha256(f"{trace_id}:{name}".encode()).hexdigest()[:16]

    asked = Message(role="user", parts=(TextPart(content=question),))
    said = Message(role="assistant", parts=(TextPart(content=answer),))
    calls = Message(
        role="assistant",
        parts=tuple(ToolCallPart(id=f"call-{name}", name=name, arguments=arguments) for name, arguments, _ in tools),
    )
    shown = tuple(
        Message(role="tool", parts=(ToolCallResponsePart(id=f"call-{name}", name=name, response=result),))
        for name, _, result in tools
        if rule != "no_tool"  # a result that stands in messages counts as a tool's
    )
    root = named("root")
    spans = [
        Span(
            span_id=root,
            trace_id=trace_id,
            kind="AGENT",
            name="order-agent",
            start_time=at(0),
            end_time=end,
            status="ok",
            input_messages=(asked,),
            output_messages=(said,),
        ),
        Span(
            span_id=named("plan"),
            trace_id=trace_id,
            parent_id=root,
            kind="LLM",
            name="plan",
            start_time=at(0.5),
            end_time=at(1.5),
            status="ok",
            model="made-up-1",
            input_messages=(asked,),
            output_messages=(calls,),
        ),
    ]
    if rule != "no_tool":
        spans += [
            Span(
                span_id=named(name),
                trace_id=trace_id,
                parent_id=root,
                kind="TOOL",
                name=name,
                tool_name=name,
                start_time=at(2 + number),
                end_time=at(2.5 + number),
                status="ok",
                input=arguments,
                output=result,
            )
            for number, (name, arguments, result) in enumerate(tools)
        ]
    if rule == "orchestrator_subagent":
        spans.append(
            Span(
                span_id=named("helper"),
                trace_id=trace_id,
                parent_id=root,
                kind="AGENT",
                name="helper-agent",
                start_time=at(4),
                end_time=at(4.5),
                status="ok",
            )
        )
    spans.append(
        Span(
            span_id=named("answer"),
            trace_id=trace_id,
            parent_id=root,
            kind="LLM",
            name="answer",
            start_time=at(5),
            end_time=at(5.9),
            status="ok",
            model="made-up-1",
            input_messages=(asked, calls, *shown),
            output_messages=(said,),
        )
    )
    return tuple(spans)
