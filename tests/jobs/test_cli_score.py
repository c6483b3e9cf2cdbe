"""`groundwire score FILE`: the worked examples to the digit, and bad input in one clear line."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from groundwire.jobs.cli import app
from groundwire.scorer import ConfigError

ORDER = {"order": "A-1042", "shipped": "2026-05-03", "carrier": "Northpost", "weight_kg": 2.4, "total_eur": 1249.5}


def trace(answer: str, *results: Any, trace_id: str = "t1") -> dict[str, Any]:
    def span(span_id: str, kind: str, parent: str | None, second: int, **more: Any) -> dict[str, Any]:
        times = {"start_time": f"2026-11-30T10:00:0{second}Z", "end_time": f"2026-11-30T10:00:0{second + 1}Z"}
        return {
            "span_id": span_id,
            "trace_id": trace_id,
            "parent_id": parent,
            "kind": kind,
            "name": span_id,
            **times,
            **more,
        }

    said = [{"role": "assistant", "parts": [{"type": "text", "content": answer}]}]
    tools = [span(f"tool{n}", "TOOL", "root", n + 1, output=result) for n, result in enumerate(results)]
    return {
        "schema": "canonical_partition_v1",
        "partition_type": "trace",
        "partition_id": trace_id,
        "trace_id": trace_id,
        "spans": [span("root", "AGENT", None, 0, output_messages=said), *tools],
    }


def completion(answer: str, response: Any) -> dict[str, Any]:
    shown = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "name": "kpi", "response": response}]}
    said = {"role": "assistant", "parts": [{"type": "text", "content": answer}]}
    times = {"start_time": "2026-11-30T10:00:00Z", "end_time": "2026-11-30T10:00:01Z"}
    llm: dict[str, Any] = {"span_id": "l", "trace_id": "t", "kind": "LLM", "name": "chat", **times}
    llm |= {"input_messages": [shown], "output_messages": [said]}
    return {"partition_type": "span", "partition_id": "t:l", "trace_id": "t", "target_span_id": "l", "spans": [llm]}


def score(path: Path, *options: str) -> tuple[int, list[dict[str, Any]], str]:
    result = CliRunner().invoke(app, ["score", str(path), "--json", *options])
    if isinstance(result.exception, ConfigError):
        return 2, [], str(result.exception)
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()], result.stderr


TRACES = [
    ("Order A-1042 was shipped on 3 May 2026. Northpost carries it. It weighs 2.4 kg. The refund is 310 euros.", "310"),
    ("- Total: €1,249.50\n- Weight: 2.4 kg\n- Carrier: Northpost\n- Delivery fee: €89.90", "89.90"),
    ("It weighs 2.4 kg. It cost 1,249.50 EUR. It left on May 3, 2026. Insurance of 75 euros is included.", "75"),
    (
        "Die Bestellung A-1042 kostet 1.249,50 €. Sie wiegt 2,4 kg. Sie ging am 3. Mai 2026 ab. Der Rabatt ist 45 €.",
        "45",
    ),
    ("El pedido A-1042 cuesta 1.249,50 €. Pesa 2,4 kg. Salió el 3 de mayo de 2026. El descuento es de 45 €.", "45"),
    ("The discount is 33 euros. The total is 1249.5 euros. The weight is 2.4 kg. It shipped on 2026-05-03.", "33"),
]


@pytest.mark.parametrize(("answer", "invented"), TRACES)
def test_four_claims_one_of_them_invented_score_three_quarters(answer: str, invented: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(json.dumps(trace(answer, ORDER)), encoding="utf-8")
    code, [row], _ = score(path)
    assert (code, row["status"], row["score"], row["label"]) == (0, "scored", 0.75, "hallucinated")
    labels = [claim["label"] for claim in row["claims"]]
    assert sorted(labels) == ["hallucinated", "supported", "supported", "supported"]
    [wrong] = [claim for claim in row["claims"] if claim["label"] == "hallucinated"]
    assert invented in wrong["text"]
    assert answer[wrong["start"] : wrong["end"]] == wrong["text"]


SPANS = [
    ("Revenue in Q3 was 4.8 million euros.", {"quarter": "Q3", "revenue_eur": 4_200_000}),
    ("The flight costs $540.", {"flight": "XJ 12", "price_usd": 450}),
    ("Der Preis beträgt 1.350,00 €.", {"preis_eur": 1250.0}),
    ("El pedido pesa 7 kg.", {"pedido": "P-9", "peso_kg": 5}),
    ("Your balance is **1,250.00** USD.", '{"balance_usd": 1150.0}'),
    ("The stock is 37 units.", {"item": "lamp", "stock": 21}),
]


@pytest.mark.parametrize(("answer", "response"), SPANS)
def test_a_contradicted_figure_costs_a_span_its_numeric_dimension(answer: str, response: Any, tmp_path: Path) -> None:
    path = tmp_path / "span.jsonl"
    path.write_text(json.dumps(completion(answer, response)), encoding="utf-8")
    code, [row], _ = score(path, "--level", "span")
    kept = {"categorical": 1.0, "no_fabrication": 1.0, "completeness": 1.0}
    assert (code, row["score"], row["dimensions"]) == (0, 0.65, {"numeric": 0.0, **kept})
    assert row["label"] is None


def test_one_bad_line_stops_nothing_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl.gz"
    good = json.dumps(trace("It weighs 2.4 kg.", ORDER))
    path.write_bytes(gzip.compress(f"{good}\n{{broken\n{good.replace('t1', 't2')}\n".encode()))
    code, rows, told = score(path)
    assert code == 1
    assert [row["trace_id"] for row in rows] == ["t1", "t2"]
    assert f"{path}:2: " in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "there is no such file"),
        (lambda path: path.mkdir(), "folder"),
        (lambda path: path.write_text(""), "empty"),
        (lambda path: path.write_text("just words\n"), "JSON"),
        (lambda path: path.write_text('{"a": 1}\n'), "format"),
    ],
)
def test_input_that_cannot_be_read_is_one_line_and_exit_code_2(make: Any, said: str, tmp_path: Path) -> None:
    path = tmp_path / "input"
    make(path)
    code, rows, told = score(path)
    assert (code, rows) == (2, [])
    assert said in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--level", "sesion"), "--level is span, trace or session"),
        (("--format", "xml"), "--format is one of"),
        (("--metric", "agent.halucination"), "no metric is called"),
        (("--judge", "llm"), "--judge llm needs --model"),
        (("--judge", "decision", "--model", "m"), "--judge decision needs --base-url"),
        (("--judge", "llm", "--model", "gpt-5-mini"), "OPENAI_API_KEY"),
        (("--judge", "wizard"), "kind must be llm, offline or decision"),
        (("--judge", "llm", "--model", "nobody-knows-it", "--max-usd", "1"), "no price is known"),
        (("--config", "nowhere.toml"), "nowhere.toml"),
    ],
)
def test_a_wrong_option_is_one_line_that_says_what_to_change(options: Any, said: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(json.dumps(trace("It weighs 2.4 kg.", ORDER)), encoding="utf-8")
    code, rows, told = score(path, *options)
    assert (code, rows) == (2, [])
    assert said in told
    assert "\n" not in told.strip()


def test_the_same_content_twice_is_a_duplicate(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    line = json.dumps(trace("It weighs 2.4 kg.", ORDER))
    path.write_text(f"{line}\n{line}\n")
    _, rows, _ = score(path)
    assert [(row["status"], row["reason"]) for row in rows] == [("scored", None), ("skipped", "duplicate")]


def test_what_public_conversations_come_to(tmp_path: Path) -> None:
    path = Path(__file__).parents[2].parent / "shared" / "data" / "tau_bench" / "gpt-4o-airline_trial0.json"
    if not path.exists():
        pytest.skip("the shared conversations aren't here")
    code, rows, _ = score(path)
    assert code == 0
    assert len(rows) == 50
    statuses = [row["status"] for row in rows]
    assert statuses.count("scored") >= 30
    assert "error" not in statuses


def test_the_files_judge_table_gives_what_the_options_leave_open(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(json.dumps(trace("It weighs 2.4 kg.", ORDER)), encoding="utf-8")
    config = tmp_path / "metric.toml"
    config.write_text('[judge]\napi_key = "made-up"\nprice = { input = 1.0, output = 2.0 }\n', encoding="utf-8")
    options = ["--judge", "llm", "--model", "house-model", "--max-usd", "1", "--config", str(config), "--dry-run"]
    result = CliRunner().invoke(app, ["score", str(path), *options])
    assert result.exit_code == 0, result.exception
    assert "2 judge calls" in result.stdout
    assert "at most $" in result.stdout
