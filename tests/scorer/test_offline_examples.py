"""The metric's worked examples and paraphrases of them: other figures, orders, formats and languages."""

import json
from typing import Any

import pytest

from groundwire.scorer import Block, Limits, View, fit
from groundwire.scorer.judges.offline import OfflineJudge

S, H = "supported", "hallucinated"


def tools(*results: tuple[str, Any]) -> View:
    """A view of tool results, `(tool name, result)` each."""
    blocks = [
        Block(
            name=f"E{number}",
            kind="tool",
            text=result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, separators=(",", ":")),
            span_id=f"span-{number}",
            tool_name=name,
        )
        for number, (name, result) in enumerate(results, start=1)
    ]
    return fit(blocks, Limits())


FLIGHT = ("search_flights", {"flight_number": "LH441", "departure": "14:20", "arrival": "18:05", "price_eur": 431.5})

TRACE = {
    "order": (
        "Where is my order?",
        "Order W-10432 has shipped. It contains 3 items. The total is $129.50. The parcel weighs 4.7 kg.",
        tools(
            ("get_order", {"order_id": "W-10432", "status": "shipped", "total": 129.5, "currency": "USD", "items": 3}),
            ("track", {"carrier": "DHL", "eta": "2026-05-06"}),
        ),
        [S, S, S, H],
    ),
    "thousands and magnitudes": (
        "How did we do in the third quarter?",
        "Headcount grew to 315. Revenue was 1.2 million USD. We have 48,210 customers now. Churn was 2.4 %.",
        tools(("report", {"quarter": "Q3", "revenue_usd": 1200000, "customers": 48210, "churn_percent": 2.4})),
        [H, S, S, S],
    ),
    "list with dates": (
        "Tell me about my booking.",
        "Here are the details:\n\n- **Check-in:** May 3, 2026\n- **Check-out:** 7 May 2026\n- **Rate:** €89.00 per "
        "night\n- **Deposit:** €250\n\nLet me know if you need anything else!",
        tools(
            ("get_booking", {"check_in": "2026-05-03", "check_out": "2026-05-07", "rate": "89.00 EUR", "room": "Twin"})
        ),
        [S, S, S, H],
    ),
    "table": (
        "Compare the plans.",
        "| Plan | Price |\n|---|---|\n| Basic | $9.99 |\n| Plus | $19.99 |\n| Pro | $34.99 |\n| Max | $59.00 |\n",
        tools(
            (
                "plans",
                [{"plan": "Basic", "price": 9.99}, {"plan": "Plus", "price": 19.99}, {"plan": "Pro", "price": 34.99}],
            )
        ),
        [S, S, S, H],
    ),
    "one long sentence": (
        "Tell me about the flight.",
        "Flight LH441 leaves at 14:20, lands at 18:05, costs 431.50 EUR and has 9 seats left.",
        tools(FLIGHT),
        [S, S, S, H],
    ),
    "German": (
        "Was kostet der Flug?",
        "Der Flug LH441 startet um 14:20 Uhr. Er landet um 18:05 Uhr. Er kostet 431,50 €. Es sind noch 17 Plätze frei.",
        tools(FLIGHT),
        [S, S, S, H],
    ),
    "Spanish": (
        "¿Cuánto he gastado?",
        "Su saldo es de 1.520,75 €. El último pago fue el 3 de mayo de 2026. "
        "Tiene 12 movimientos. El límite es de 9.800 €.",
        tools(("account", {"balance": 1520.75, "currency": "EUR", "last_payment": "2026-05-03", "transactions": 12})),
        [S, S, S, H],
    ),
    "French": (
        "Où est ma commande ?",
        "La commande W-10432 contient 3 articles. Le total est de 1 129,50 €. Elle arrive le 6 mai "
        "2026. Le colis pèse 4,7 kg.",
        tools(("get_order", {"order_id": "W-10432", "total": 1129.5, "items": 3, "eta": "2026-05-06"})),
        [S, S, S, H],
    ),
    "Chinese": (
        "航班信息是什么？",
        "航班LH441于14:20起飞，18:05到达，票价为431.50欧元，剩余9个座位。",
        tools(FLIGHT),
        [S, S, S, H],
    ),
}


@pytest.mark.parametrize("name", TRACE)
async def test_four_claims_one_invented_figure(name: str) -> None:
    question, answer, view, labels = TRACE[name]
    judge = OfflineJudge()
    drafts = [claim for claim in (await judge.split(question, answer)).value or () if claim.kind == "fact"]
    claims = (await judge.label(question, drafts, view)).value or ()
    assert [claim.label for claim in claims] == labels
    for claim in claims:
        assert claim.start is not None
        assert answer[claim.start : claim.end] == claim.text
        if claim.label == S:
            assert claim.evidence is not None
            assert claim.evidence.verified
            cited = view.find(claim.evidence.block)
            assert cited is not None
            assert claim.evidence.quote in cited.text
            assert claim.evidence.path is not None
            assert claim.probability is not None
            assert claim.probability < 0.5
        else:
            assert claim.probability is not None
            assert claim.probability >= 0.5
            assert claim.type in {"unsupported_addition", "contradiction"}


SPAN = {
    "balance": (
        "What is my balance?",
        "Your balance is $1,250.75.",
        tools(("get_account", {"account_id": "A-77", "balance": 1520.75, "currency": "USD"})),
    ),
    "date": (
        "When does it arrive?",
        "Your parcel arrives on May 9, 2026.",
        tools(("track", {"carrier": "DHL", "eta": "2026-05-06"})),
    ),
    "list": (
        "What did I order?",
        "Your order:\n- Order: W-10432\n- Items: 3\n- Total: $192.50",
        tools(("get_order", {"order_id": "W-10432", "items": 3, "total": 129.5})),
    ),
    "percent in prose": (
        "How high is the interest?",
        "The interest rate is **4.9 %** and the term is 24 months.",
        tools(("terms", "The interest rate of this loan is 3.9 %. The term is 24 months.")),
    ),
    "German": (
        "Wie hoch ist mein Kontostand?",
        "Ihr Kontostand beträgt 1.250,75 €.",
        tools(("get_account", {"account_id": "A-77", "balance": 1520.75, "currency": "EUR"})),
    ),
    "Spanish": (
        "¿Cuánto cuesta el vuelo?",
        "El vuelo LH441 cuesta 481,50 €.",
        tools(("search_flights", {"flight_number": "LH441", "price": 431.5})),
    ),
    "Chinese": ("余额是多少？", "您的余额为1250.75元。", tools(("get_account", {"balance": 1520.75}))),
}


@pytest.mark.parametrize("name", SPAN)
async def test_a_figure_that_contradicts_its_response_costs_the_numeric_dimension_alone(name: str) -> None:
    question, answer, view = SPAN[name]
    reply = await OfflineJudge().faithfulness(question, answer, view)
    assert reply.value is not None
    assert reply.value.dimensions.model_dump() == {
        "numeric": 0.0,
        "categorical": 1.0,
        "no_fabrication": 1.0,
        "completeness": 1.0,
    }
    assert len(reply.value.claims) == 1


OTHER_DIMENSIONS = {
    "status": (
        "Is my flight on time?",
        "Flight LH441 is on time.",
        {"flight": "LH441", "status": "delayed"},
        "categorical",
    ),
    "yes or no": (
        "Can I get a refund?",
        "Your ticket is refundable.",
        {"ticket": "T-1001", "refundable": False},
        "categorical",
    ),
    "labelled name": ("Who ships it?", "The carrier is DHL.", {"order": "W-1", "carrier": "UPS"}, "categorical"),
    "an addition": (
        "What does it cost?",
        "It costs $20 and includes a 2-year warranty.",
        {"price": 20},
        "no_fabrication",
    ),
}


@pytest.mark.parametrize("name", OTHER_DIMENSIONS)
async def test_each_other_dimension_is_lost_alone(name: str) -> None:
    question, answer, result, lost = OTHER_DIMENSIONS[name]
    reply = await OfflineJudge().faithfulness(question, answer, tools(("lookup", result)))
    assert reply.value is not None
    assert {key for key, value in reply.value.dimensions.model_dump().items() if value < 1} == {lost}


async def test_completeness_is_the_share_of_what_was_asked_and_is_there() -> None:
    view = tools(("lookup", {"price": 20, "weight": "3 kg", "colour": "red"}))
    reply = await OfflineJudge().faithfulness("What are its price and weight?", "The price is $20.", view)
    assert reply.value is not None
    assert reply.value.dimensions.completeness == 0.5
    assert reply.value.dimensions.numeric == 1.0
