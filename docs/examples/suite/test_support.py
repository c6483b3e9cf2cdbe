"""The suite as a LangSmith test suite: pytest --langsmith-output test_support.py"""

from pathlib import Path

import agents
import pytest
from langsmith import testing

from groundwire.jobs.suite import Fault, Grading, load_suite, read_output, sample_of
from groundwire.scorer import Case

SUITE = load_suite(Path(__file__).with_name("suite.toml"))
GRADING = Grading.of(SUITE)


@pytest.mark.langsmith
@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: case.id)
def test_support(case: Case) -> None:
    """One experiment row a case, with the graders' findings as feedback; a failed grade fails the build."""
    testing.log_inputs({"question": case.input})
    testing.log_reference_outputs({"expect": case.expect})
    output = read_output(agents.v1(str(case.input), trial=0))
    assert not isinstance(output, Fault), output.message
    testing.log_outputs({"answer": output.answer})
    grades, fault = GRADING.grade(case, sample_of(SUITE, case, output))
    for grade in grades:
        if grade.passed is not None:
            testing.log_feedback(key=grade.grader, score=grade.passed)
    assert fault is None
    assert [grade.reason for grade in grades if grade.passed is False] == []
