"""What a model's tokens cost, and the most that a call can use, known before it is made.

A dollar per million tokens is a micro-dollar per token, so rates and money share one unit here.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from typing import Any

from groundwire.scorer.spend import Usage

__all__ = ["Price", "Rates", "find_price", "token_bound"]

MESSAGE_TOKENS = 16
"""More than any chat template spends on the frame of one message."""
CALL_TOKENS = 64
"""More than any chat template spends around all messages (priming, tool preambles), beside what is counted as text."""


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Micro-dollars per token (dollars per million tokens)."""

    input: Decimal
    cached_input: Decimal
    output: Decimal
    dearest_input: Decimal
    """The most that an input token can cost, writing it to the provider's cache included."""
    call: Decimal = Decimal(0)
    """Micro-dollars for the call itself."""


@dataclass(frozen=True, kw_only=True)
class Price:
    """What a model costs; from a tier's start on, its rates hold for all tokens of the call."""

    base: Rates
    tiers: tuple[tuple[int, Rates], ...] = ()
    """(input tokens above which the rates hold, rates), ascending."""

    @classmethod
    def per_million(cls, *, input: Decimal, output: Decimal, cached_input: Decimal | None = None) -> "Price":  # noqa: A002 - the word of the setting
        """A price in dollars per million tokens; cached input costs as much as input unless said otherwise."""
        cached = input if cached_input is None else cached_input
        rates = Rates(input=input, cached_input=cached, output=output, dearest_input=max(input, cached))
        return cls(base=rates)

    def cost(self, usage: Usage) -> int:
        """Micro-dollars for one call with that usage, rounded up."""
        rates = self._rates(usage.input_tokens + usage.cached_tokens)
        return _up(
            usage.input_tokens * rates.input
            + usage.cached_tokens * rates.cached_input
            + (usage.output_tokens + usage.reasoning_tokens) * rates.output
            + rates.call
        )

    def worst(self, input_tokens: int, output_tokens: int) -> int:
        """The most that one call can cost with at most so many tokens, in micro-dollars, rounded up."""
        reachable = [self.base, *(rates for start, rates in self.tiers if input_tokens > start)]
        return max(
            _up(input_tokens * rates.dearest_input + output_tokens * rates.output + rates.call) for rates in reachable
        )

    def _rates(self, input_tokens: int) -> Rates:
        return next((rates for start, rates in reversed(self.tiers) if input_tokens > start), self.base)


def _up(amount: Decimal) -> int:
    return int(amount.to_integral_value(rounding=ROUND_CEILING))


def token_bound(texts: Iterable[str], *, messages: int) -> int:
    """The most tokens a prompt can have: one per UTF-8 byte (no byte-level tokenizer makes more), and its frame."""
    return sum(len(text.encode("utf-8", "replace")) for text in texts) + MESSAGE_TOKENS * messages + CALL_TOKENS


_VERSION = re.compile(r"[-@:_](?:\d[\d.]*|v\d[\d.]*|latest|preview|exp|\d{4}-\d{2}-\d{2})$")


def find_price(model: str, *, now: datetime, provider: str | None = None, base_url: str | None = None) -> Price | None:
    """The price of a model from the list of `genai-prices`; None where it isn't known.

    The provider is the named one, else the one whose address `base_url` is, else the one the model's name belongs to.
    A version that the list lacks has the price of the longest known name before it (`gpt-5-mini-2026-11-01` that of
    `gpt-5-mini`); only dates and version words are dropped for that. Where the price depends on the hour, it is that
    of the dearest hour.
    """
    from genai_prices.data_snapshot import get_snapshot

    snapshot = get_snapshot()
    name = model
    while True:
        try:
            _, info = snapshot.find_provider_model(name, None, provider, None if provider else base_url)
        except LookupError:
            shorter = _VERSION.sub("", name)
            if shorter == name:
                return None
            name = shorter
        else:
            return _dearest([_read(prices) for prices in _in_force(info.prices, now)])


def _in_force(prices: Any, now: datetime) -> list[Any]:
    """The prices that can hold today, whatever the hour."""
    from genai_prices.types import TimeOfDateConstraint

    if not isinstance(prices, list):
        return [prices]
    found = []
    for conditional in reversed(prices):  # the last one whose condition holds counts
        if isinstance(conditional.constraint, TimeOfDateConstraint):
            found.append(conditional.prices)
        elif conditional.constraint is None or conditional.constraint.active(now):
            return [*found, conditional.prices]
    return found or [prices[0].prices]


def _read(prices: Any) -> Price | None:
    """The list's price in our form; None where tokens are not what is paid for."""
    from genai_prices.types import TieredPrices

    keys = {
        key: getattr(prices, key)
        for key in ("input_mtok", "cache_read_mtok", "cache_write_mtok", "output_mtok", "output_reasoning_mtok")
    }
    if keys["input_mtok"] is None or keys["output_mtok"] is None:
        return None
    starts = sorted(
        {tier.start for value in keys.values() if isinstance(value, TieredPrices) for tier in value.tiers},
    )

    def at(key: str, start: int) -> Decimal | None:
        value = keys[key]
        if not isinstance(value, TieredPrices):
            return None if value is None else Decimal(value)
        return Decimal(next((tier.price for tier in reversed(value.tiers) if start >= tier.start), value.base))

    def rates(start: int) -> Rates:
        paid = at("input_mtok", start) or Decimal(0)
        cached = at("cache_read_mtok", start)
        output = at("output_mtok", start) or Decimal(0)
        return Rates(
            input=paid,
            cached_input=paid if cached is None else cached,
            output=max(output, at("output_reasoning_mtok", start) or Decimal(0)),
            dearest_input=max(paid, cached or Decimal(0), at("cache_write_mtok", start) or Decimal(0)),
            call=Decimal(getattr(prices, "requests_kcount", None) or 0) * 1_000,
        )

    return Price(base=rates(0), tiers=tuple((start, rates(start)) for start in starts))


def _dearest(prices: list[Price | None]) -> Price | None:
    known = [price for price in prices if price is not None]
    if len(known) < len(prices) or not known:
        return None
    return max(known, key=lambda price: (price.base.output, price.base.input))
