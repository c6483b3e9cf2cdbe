"""Which graders apply to which case, and what they make of a trial."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from groundwire.jobs.suite.spec import GraderSpec, Suite, read_json
from groundwire.scorer import Case, ConfigError, Grader, GradeRow, Sample, build_grader, load_callable, source_digest

__all__ = ["BoundGrader", "Grading"]

_DEFAULT = (
    GraderSpec(use="answer_match", kinds=("normal", "hard")),
    GraderSpec(use="refusal", kinds=("must_refuse",)),
    GraderSpec(use="citation_match"),
)
"""What grades a suite that names no graders; citations only where the case has any to give."""


@dataclass(frozen=True, kw_only=True)
class BoundGrader:
    """A grader with the kinds of case that it grades."""

    name: str
    grader: Grader
    spec: GraderSpec
    identity: Mapping[str, JsonValue]
    """What of it defines a pass."""


@dataclass(frozen=True, kw_only=True)
class Grading:
    """The graders of a suite."""

    graders: tuple[BoundGrader, ...]

    @classmethod
    def of(cls, suite: Suite) -> "Grading":
        """The suite's graders, each tried on each of its cases.

        Raises `ConfigError` for a grader that doesn't exist or doesn't fit its case, and for a case that nothing grades
        or that expects nothing where a grader compares.
        """
        grading = cls(graders=tuple(_bound(spec, suite) for spec in suite.spec.graders or _DEFAULT))
        for case in suite.cases:
            grading._require(case, suite)
        return grading

    def of_case(self, case: Case) -> tuple[BoundGrader, ...]:
        """Those that grade it."""
        return tuple(bound for bound in self.graders if case.kind in bound.spec.kinds)

    def grade(self, case: Case, sample: Sample) -> tuple[tuple[GradeRow, ...], str | None]:
        """The grades of a trial, and which grader failed with what, if one did."""
        rows: list[GradeRow] = []
        for bound in self.of_case(case):
            try:
                grade = bound.grader(sample)
            except Exception as error:  # noqa: BLE001 - a user's grader may fail in any way: the row says which did
                return tuple(rows), f"{bound.name} raised {type(error).__name__}"
            rows.append(GradeRow(grader=bound.name, passed=grade.passed, reason=grade.reason, label=grade.label))
        return tuple(rows), None

    def _require(self, case: Case, suite: Suite) -> None:
        where = f"{suite.cases_path} ({case.id})"
        applying = self.of_case(case)
        if not applying:
            raise ConfigError(f"{where}: no grader applies to a {case.kind} case")
        for bound in applying:
            compares = bound.spec.use == "answer_match" and "expect" not in bound.spec.parameters
            if compares and case.expect is None:
                raise ConfigError(f"{where}: has no `expect`, which {bound.name} compares the answer with")
            if ":" in bound.spec.use:
                continue
            try:
                bound.grader(Sample(answer="{}", expect=case.expect, must_refuse=case.must_refuse, tool_calls=()))
            except ConfigError as error:
                raise ConfigError(f"{where}: {error}") from None


def _bound(spec: GraderSpec, suite: Suite) -> BoundGrader:
    parameters = _with_schema(spec, suite)
    identity: dict[str, JsonValue] = {"use": spec.use, "kinds": list(spec.kinds), "parameters": parameters}
    if ":" in spec.use:
        identity["source"] = source_digest(load_callable(spec.use, folder=suite.folder))
    return BoundGrader(
        name=spec.name or spec.use.rpartition(":")[2],
        grader=build_grader(spec.use, parameters, folder=suite.folder),
        spec=spec,
        identity=identity,
    )


def _with_schema(spec: GraderSpec, suite: Suite) -> dict[str, Any]:
    """The grader's parameters; a schema that is named is read from its file, beside the suite."""
    parameters = spec.parameters
    if spec.use == "schema_valid" and isinstance(parameters.get("schema"), str):
        parameters["schema"] = read_json(suite.folder / parameters["schema"])
    return parameters
