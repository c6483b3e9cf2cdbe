"""How many tokens of every judged answer are groundwire's own words, by a real tokenizer (o200k).

What is counted is all that goes out beside the trace's text: the static prompt, the fence around empty sections, and
the JSON schema. Run: `python -m tests.benchmarks.bench_prompt`.
"""

import json
import warnings
from typing import Any

from groundwire.scorer.claims import DraftClaim
from groundwire.scorer.evidence import Block, Limits, fit
from groundwire.scorer.fence import Fence, Section
from groundwire.scorer.judges.forms import CLAIMS, FACTS, FAITHFULNESS, LABELS, QUOTES, SPANS, VERDICT, Form
from groundwire.scorer.judges.rendering import claims_section, render_view
from groundwire.scorer.prompts import PromptName, Prompts, load_prompts
from groundwire.scorer.redaction import Redaction

__all__ = ["BUDGETS", "fixed_tokens", "paths"]

BUDGETS = {"trace": 900, "span": 600, "conversation": 600}
"""Most fixed tokens of a judged answer, by path."""


def fixed_tokens(prompt: PromptName, form: Form[Any], sections: list[Section], prompts: Prompts, encoding: Any) -> int:
    """Tokens of one call whose sections hold nothing."""
    return len(encoding.encode("\n".join([prompts[prompt], Fence(mark="731902558").render(sections), form.text])))


def paths(encoding: Any) -> dict[str, dict[str, int]]:
    """Tokens by path and question; what is asked only in case of trouble stands under `again`."""
    prompts = load_prompts()
    redaction = Redaction()
    blocks = (Block(name="E1", kind="tool", text=" "), Block(name="U1", kind="user", text=" "))
    evidence = list(render_view(fit(blocks, Limits()), redaction).sections)
    asked, answer = Section(name="QUESTION", text=""), Section(name="ANSWER", text="")
    listed = claims_section([("C1", DraftClaim(text=""))], redaction)

    def count(prompt: PromptName, form: Form[Any], *sections: Section) -> int:
        return fixed_tokens(prompt, form, list(sections), prompts, encoding)

    return {
        "trace": {
            "claims": count("claims", CLAIMS, asked, answer),
            "labels": count("labels", LABELS, *evidence, asked, listed),
        },
        "span": {"faithfulness": count("faithfulness", FAITHFULNESS, evidence[0], asked, answer)},
        "conversation": {"verdict": count("verdict", VERDICT, Section(name="RECORD", text=""), answer)},
        "spans": {"spans": count("spans", SPANS, *evidence, asked, answer)},
        "gate": {"facts": count("facts", FACTS, Section(name="REQUEST", text=""))},
        "again": {"quotes": count("quotes", QUOTES, *evidence, asked, listed)},
    }


def main() -> None:
    """Print the counts as JSON."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # bpe_openai reads its own data in a way Python deprecates
        import bpe_openai

        encoding = bpe_openai.get_encoding("o200k_base")
    found = paths(encoding)
    totals = {path: sum(questions.values()) for path, questions in found.items()}
    print(json.dumps({"questions": found, "totals": totals, "budgets": BUDGETS}, indent=2))


if __name__ == "__main__":
    main()
