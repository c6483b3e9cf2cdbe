"""What a judge can be set to, and what of it goes over the wire."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError
from tests.scorer.judging import ANSWER, QUESTION, close_all, facts, judge_of, view
from tests.scorer.openai_server import Fault, JudgeServer

from groundwire.scorer.errors import ConfigError, GiveUp
from groundwire.scorer.evidence import View
from groundwire.scorer.judge import Judge
from groundwire.scorer.judges.config import (
    DecisionJudgeConfig,
    LLMJudgeConfig,
    OfflineJudgeConfig,
    from_systems_params,
    judge_config_of,
    read_judge_config,
)
from groundwire.scorer.judges.estimates import Estimate, estimate
from groundwire.scorer.judges.llm import LLMJudge
from groundwire.scorer.judges.offline import OfflineJudge
from groundwire.scorer.judges.registry import build_judge
from groundwire.scorer.metrics.config import HallucinationConfig
from groundwire.scorer.spend import MemoryLedger

CLAIM = facts("It departs at 18:40.")
TLS = Path(__file__).parent / "tls"


def test_a_judge_is_an_llm_unless_it_says_otherwise() -> None:
    assert isinstance(read_judge_config({"model": "gpt-5-mini"}), LLMJudgeConfig)
    assert isinstance(read_judge_config({"kind": "offline"}), OfflineJudgeConfig)
    assert isinstance(build_judge(OfflineJudgeConfig()), OfflineJudge)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ({"kind": "oracle"}, "judge: kind must be llm, offline or decision"),
        ({}, "judge: model: Field required"),
        ({"model": "m", "temprature": 0}, "judge: temprature: Extra inputs"),
        ({"model": "m", "temperature": 3}, "judge: temperature: "),
        ({"model": "m", "base_url": "localhost:8000"}, "judge: base_url: .*must be an address"),
        ({"model": "m", "base_url": "https://me:secret@host/v1"}, "judge: base_url: .*must not hold a password"),
        ({"model": "m", "ca_bundle": "/none.pem"}, "judge: ca_bundle: .*no such file"),
        ({"model": "m", "azure": {"api_version": "2026-01-01"}}, "azure needs base_url"),
        ({"model": "m", "price": {"input": -1, "output": 1}}, "judge: price.input: "),
        ({"model": "m", "redact": ["everything"]}, "judge: redact"),
    ],
)
def test_a_wrong_setting_is_one_line(data: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError, match=line) as caught:
        read_judge_config(data)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_key_never_shows() -> None:
    config = read_judge_config({"model": "m", "api_key": "sk-very-secret", "headers": {"x-org": "very-secret"}})
    assert "very-secret" not in repr(config)
    assert "very-secret" not in config.model_dump_json()


def test_openai_needs_a_key_and_a_server_of_ones_own_does_not() -> None:
    with pytest.raises(ConfigError, match="no API key; set OPENAI_API_KEY"):
        build_judge(LLMJudgeConfig(model="gpt-5-mini"))
    assert isinstance(build_judge(LLMJudgeConfig(model="m", base_url="http://127.0.0.1:1/v1")), LLMJudge)


@pytest.mark.parametrize(
    "params",
    [
        {"model": "gpt-5-mini", "api_key": "k", "base_url": "http://127.0.0.1:1/v1"},
        {"judge_model": "gpt-5-mini", "judge_api_key": "k", "base_url": "http://127.0.0.1:1/v1"},
        {
            "model": "x",
            "judge_model": "gpt-5-mini",
            "api_key": "y",
            "judge_api_key": "k",
            "base_url": "http://127.0.0.1:1/v1",
        },
    ],
)
def test_systems_params_name_the_judge(params: dict[str, Any]) -> None:
    config = from_systems_params({"evaluator_system": {"params": params}})
    assert isinstance(config, LLMJudgeConfig)
    assert config.model == "gpt-5-mini"
    assert config.api_key is not None
    assert config.api_key.get_secret_value() == "k"


@pytest.mark.parametrize("params", [None, {}, {"evaluator_system": None}, {"evaluator_system": {"params": {}}}])
def test_without_a_model_the_offline_judge_answers(params: dict[str, Any] | None) -> None:
    assert from_systems_params(params) == OfflineJudgeConfig()
    assert judge_config_of(HallucinationConfig(), params) == OfflineJudgeConfig()


def test_the_metric_has_its_say() -> None:
    params = {"evaluator_system": {"params": {"model": "a", "api_key": "k", "base_url": "http://127.0.0.1:1/v1"}}}
    metric = HallucinationConfig(model="b", judge_temperature=0.3, timeout_seconds=7, concurrency_limit=3)
    config = judge_config_of(metric, params)
    assert isinstance(config, LLMJudgeConfig)
    assert (config.model, config.temperature, config.timeout_seconds, config.concurrency) == ("b", 0.3, 7.0, 3)
    with pytest.raises(ConfigError, match="no prompts in 'tlh'"):
        build_judge(config, metric=HallucinationConfig(language="tlh"))


def test_what_the_metric_does_not_set_is_the_judges_own() -> None:
    own: dict[str, Any] = {"model": "m", "base_url": "http://127.0.0.1:1/v1", "timeout_seconds": 7, "concurrency": 3}
    for config in (LLMJudgeConfig(**own, temperature=0.4), DecisionJudgeConfig(**own)):
        kept = build_judge(config, metric=HallucinationConfig()).config  # type: ignore[attr-defined]
        assert kept == config
        said = build_judge(config, metric=HallucinationConfig(timeout_seconds=2)).config  # type: ignore[attr-defined]
        assert (said.timeout_seconds, said.concurrency) == (2, 3)


def test_what_is_configured_is_the_identity_and_the_key_is_not() -> None:
    def version(**settings: Any) -> object:
        defaults = {"model": "m", "base_url": "http://127.0.0.1:1/v1"}
        return build_judge(LLMJudgeConfig(**{**defaults, **settings})).version

    assert version() == version(api_key=SecretStr("x"), timeout_seconds=3, concurrency=2)
    for other in (
        {"temperature": 0.5},
        {"base_url": "http://127.0.0.1:2/v1"},
        {"reasoning_effort": "low"},
        {"redact": ("ip",)},
    ):
        assert version(**other) != version()


async def test_the_responses_api(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server, api="responses", reasoning_effort="low")
    judge_server.refuses = {"temperature": "Unsupported parameter: 'temperature'"}
    judge_server.faults.append(Fault(reasoning_tokens=11))
    judge_server.faults.appendleft(Fault())
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.value is not None
    assert reply.value[0].label == "supported"
    assert reply.usage.reasoning_tokens == 11
    body = judge_server.calls[-1].body
    assert judge_server.calls[-1].path == "/v1/responses"
    assert body["text"]["format"]["type"] == "json_schema"
    assert body["reasoning"] == {"effort": "low"}
    assert body["store"] is False
    judge_server.faults.append(Fault(content="", finish="length", reasoning_tokens=9))
    cut = await judge.label(QUESTION, facts("The gate is B17."), view())
    assert cut.value is not None
    judge_server.faults.append(Fault(content="", refusal="no"))
    refused = await judge.label(QUESTION, facts("It cost 318.50 euros."), view())
    assert refused.failure is not None
    assert refused.failure.reason == "judge_refused"


async def test_the_responses_api_by_tool(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server, api="responses")
    judge_server.refuses = {"text": "text.format json_schema is not supported"}
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.value is not None
    assert judge_server.calls[-1].mode == "tool"


async def test_azure_is_called_by_its_deployment(judge_server: JudgeServer) -> None:
    judge = judge_of(
        judge_server.url.removesuffix("/v1"),
        model="gpt-4o-mini",
        azure={"api_version": "2026-01-01", "deployment": "our-judge"},
    )
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.value is not None
    call = judge_server.calls[0]
    assert call.path == "/openai/deployments/our-judge/chat/completions"
    assert call.query == "api-version=2026-01-01"
    assert call.headers["api-key"] == "sk-test"


async def test_headers_go_with_every_call_and_nothing_of_the_environment_does(
    judge_server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-env")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-env")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    judge = judge_of(judge_server, headers={"x-team": SecretStr("search")})
    assert (await judge.label(QUESTION, CLAIM, view())).value is not None
    headers = judge_server.calls[0].headers
    assert headers["x-team"] == "search"
    assert not any("env" in value for value in headers.values())


async def test_a_proxy_is_used_where_it_is_set(judge_server: JudgeServer) -> None:
    judge = judge_of("http://judge.invalid/v1", proxy=SecretStr(judge_server.url.removesuffix("/v1")))
    assert (await judge.label(QUESTION, CLAIM, view())).value is not None
    assert judge_server.calls[0].headers["host"] == "judge.invalid"


@pytest.fixture
async def secure() -> Any:
    server = JudgeServer().start(tls=TLS)
    yield server
    await close_all()
    server.stop()


async def test_a_certificate_of_ones_own_needs_its_bundle(secure: JudgeServer) -> None:
    with pytest.raises(GiveUp, match="set ca_bundle"):
        await judge_of(secure).label(QUESTION, CLAIM, view())
    judge = judge_of(secure, ca_bundle=TLS / "certificate.pem")
    assert (await judge.label(QUESTION, CLAIM, view())).value is not None


async def test_a_bundle_without_certificates_is_refused(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server, ca_bundle=Path(__file__))
    with pytest.raises(ConfigError, match="holds no PEM certificates"):
        await judge.label(QUESTION, CLAIM, view())


def test_azure_without_its_endpoint_is_refused() -> None:
    with pytest.raises(ValidationError, match="azure needs base_url"):
        LLMJudgeConfig(model="m", azure={"api_version": "2026-01-01"})  # type: ignore[arg-type]


# -- the outlook


@pytest.fixture
def judges(judge_server: JudgeServer) -> tuple[LLMJudge, JudgeServer, MemoryLedger]:
    ledger = MemoryLedger()
    return judge_of(judge_server, ledger), judge_server, ledger


async def test_the_outlook_makes_no_call_and_bounds_what_is_spent(
    judges: tuple[LLMJudge, JudgeServer, MemoryLedger],
) -> None:
    judge, server, ledger = judges
    outlook = estimate(judge, "trace", QUESTION, ANSWER, view())
    assert server.calls == []
    assert outlook.calls == 2
    split = await judge.split(QUESTION, ANSWER)
    assert split.value is not None
    await judge.label(QUESTION, [claim for claim in split.value if claim.kind == "fact"], view())
    assert 0 < ledger.spent <= outlook.worst_micro_dollars
    assert ledger.spent / 4 < outlook.expected_micro_dollars < ledger.spent * 4
    server.plan = lambda _index, call: (
        Fault(content="", finish="length") if len(call.turns) == 1 and call.limit < 8_000 else Fault(content="no")
    )
    spent = ledger.spent
    await judge.label(QUESTION, facts("Something else."), view())
    assert ledger.spent - spent <= outlook.worst_micro_dollars


@pytest.mark.parametrize(("path", "calls"), [("trace", 2), ("span", 1), ("spans", 1), ("conversation", 1)])
def test_the_outlook_by_path(judge_server: JudgeServer, path: Any, calls: int) -> None:
    outlook = estimate(judge_of(judge_server), path, QUESTION, ANSWER, view())
    assert outlook.calls == calls
    assert 0 < outlook.expected_micro_dollars < outlook.worst_micro_dollars
    assert (outlook + outlook).calls == 2 * calls


def test_a_recheck_may_cost_more() -> None:
    judge = judge_of("http://127.0.0.1:1/v1")
    once = estimate(judge, "trace", QUESTION, ANSWER, view())
    twice = estimate(judge, "trace", QUESTION, ANSWER, view(), recheck=True)
    assert twice.worst_micro_dollars > once.worst_micro_dollars
    assert twice.calls == once.calls


def test_the_outlook_of_other_judges() -> None:
    offline: Judge = OfflineJudge()
    assert estimate(offline, "trace", QUESTION, ANSWER, view()) == Estimate()
    decision = build_judge(DecisionJudgeConfig(model="m", base_url="http://127.0.0.1:1"))
    assert estimate(decision, "trace", QUESTION, ANSWER, View()) == Estimate(calls=1, priced=False)
    priced = build_judge(
        DecisionJudgeConfig(model="m", base_url="http://127.0.0.1:1", price={"input": Decimal(1), "output": Decimal(0)})  # type: ignore[arg-type]
    )
    outlook = estimate(priced, "conversation", QUESTION, ANSWER, View())
    assert 0 < outlook.expected_micro_dollars < outlook.worst_micro_dollars
    unknown = judge_of("http://127.0.0.1:1/v1", price=None)
    assert not estimate(unknown, "trace", QUESTION, ANSWER, view()).priced
