"""What a call costs, and the most that it can cost."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.scorer.prices import Price, Rates, find_price, token_bound
from groundwire.scorer.spend import Usage

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
MINI = Price.per_million(input=Decimal("0.25"), cached_input=Decimal("0.025"), output=Decimal(2))


def test_cost_is_rounded_up_to_a_micro_dollar() -> None:
    usage = Usage(input_tokens=1_001, cached_tokens=100, output_tokens=10, reasoning_tokens=3)
    assert MINI.cost(usage) == 279  # 250.25 + 2.5 + 26 = 278.75
    assert MINI.cost(Usage()) == 0


def test_the_worst_case_is_never_below_the_cost() -> None:
    usage = Usage(input_tokens=900, cached_tokens=100, output_tokens=40, reasoning_tokens=10)
    assert MINI.worst(1_000, 50) == 350
    assert MINI.worst(1_000, 50) >= MINI.cost(usage)


def test_a_tier_holds_for_all_tokens_of_the_call() -> None:
    low = Rates(input=Decimal(1), cached_input=Decimal(1), output=Decimal(5), dearest_input=Decimal(1))
    high = Rates(input=Decimal(2), cached_input=Decimal(2), output=Decimal(8), dearest_input=Decimal(2))
    price = Price(base=low, tiers=((200_000, high),))
    assert price.cost(Usage(input_tokens=200_000, output_tokens=10)) == 200_050
    assert price.cost(Usage(input_tokens=200_001, output_tokens=10)) == 400_082
    assert price.worst(200_001, 10) == 400_082


@pytest.mark.parametrize(
    ("model", "where", "expected"),
    [
        ("gpt-5-mini", {}, (Decimal("0.25"), Decimal("0.025"), Decimal(2))),
        ("gpt-5-mini", {"base_url": "https://api.openai.com/v1"}, (Decimal("0.25"), Decimal("0.025"), Decimal(2))),
        ("gpt-5-mini-2099-01-01", {"provider": "openai"}, (Decimal("0.25"), Decimal("0.025"), Decimal(2))),
        (
            "gpt-4o-mini",
            {"base_url": "https://x.openai.azure.com/"},
            (Decimal("0.15"), Decimal("0.075"), Decimal("0.6")),
        ),
    ],
)
def test_prices_come_from_the_list(model, where, expected) -> None:
    price = find_price(model, now=NOW, **where)
    assert price is not None
    assert (price.base.input, price.base.cached_input, price.base.output) == expected


@pytest.mark.parametrize(
    ("model", "where"),
    [
        ("a-model-of-our-own", {}),
        ("gpt-5-mini-turbo-ultra", {"provider": "openai"}),
        ("gpt-5-mini", {"base_url": "http://127.0.0.1:8000/v1"}),
        ("llama3.1", {"base_url": "http://localhost:11434/v1"}),
    ],
)
def test_what_the_list_lacks_has_no_price(model, where) -> None:
    assert find_price(model, now=NOW, **where) is None


def test_every_listed_price_is_read() -> None:
    from genai_prices.data_snapshot import get_snapshot

    read = 0
    for provider in get_snapshot().providers:
        for model in provider.models:
            price = find_price(model.id, now=NOW, provider=provider.id)
            if price is not None:
                read += 1
                assert price.worst(300_000, 1_000) >= price.cost(Usage(input_tokens=300_000, output_tokens=1_000))
    assert read > 1_000


pieces = st.one_of(
    st.text(max_size=200),
    st.text(alphabet="中文字日本語한국어ไทยहिन्दी", max_size=200),
    st.text(alphabet="👩‍👩‍👧‍👦🏳️‍🌈🇺🇳é́", max_size=100),
    st.text(alphabet="ABCDEFabcdef0123456789+/=", max_size=300),
    st.text(alphabet="(){}[];:<>=!&|\\\"'\t\n  _#", max_size=200),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(pieces, min_size=1, max_size=4))
def test_the_bound_never_underestimates(encodings, texts: list[str]) -> None:
    bound = token_bound(texts, messages=len(texts))
    for encoding in encodings:
        assert sum(len(encoding.encode(text)) for text in texts) <= bound
