"""Code graders: small functions that grade one answer, free and exact, each a result that can be read."""

from groundwire.scorer.graders.refusals import Refusal, read_refusal
from groundwire.scorer.graders.registry import GRADERS, build_grader
from groundwire.scorer.graders.sample import Grade, Grader, Sample, ToolCall

__all__ = ["GRADERS", "Grade", "Grader", "Refusal", "Sample", "ToolCall", "build_grader", "read_refusal"]
