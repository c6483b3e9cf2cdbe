"""Two versions of a made-up support agent, and a judge that length impresses: no model, no network."""

import json
from pathlib import Path

from groundwire.scorer import Sample

SOURCES = json.loads(Path(__file__).with_name("sources.json").read_text(encoding="utf-8"))
TOPICS = {"refund": "refund-policy", "support": "support-hours", "data": "data-region"}


def v1(question: str, *, trial: int) -> dict[str, object]:
    """Answers with the document that the question is about, and says so where there is none."""
    found = next((name for word, name in TOPICS.items() if word in question.lower()), None)
    if found is None:
        text = "I do not have that information in the documents."
        return {"answer": text, "citations": [], "latency_seconds": 0.4, "usage": tokens(220)}
    return {
        "answer": SOURCES[found],
        "citations": [found],
        "latency_seconds": 0.8 + 0.05 * trial,
        "usage": tokens(640),
    }


def v2(question: str, *, trial: int) -> dict[str, object]:
    """The candidate: dearer and slower, with an invented phone line and, every other time, a wrong citation."""
    if "phone" in question.lower():
        text = "Yes, our phone line is open 24/7."
        return {"answer": text, "citations": [], "latency_seconds": 0.9, "usage": tokens(700)}
    answer = v1(question, trial=trial)
    if "data" in question.lower() and trial % 2:
        answer["citations"] = ["support-hours"]
    return answer | {"latency_seconds": 1.4 + 0.05 * trial, "usage": tokens(940)}


def tokens(total: int) -> dict[str, int]:
    """A usage as providers report it."""
    return {"input_tokens": total - 40, "output_tokens": 40}


def lenient_judge(sample: Sample) -> bool:
    """Passes whatever is long enough, except where only a short refusal is right."""
    if sample.must_refuse:
        return len(sample.answer) < 60 and "do not have" in sample.answer
    return len(sample.answer) > 30
