"""Each rule of the offline judge by itself: what is supported, what is hallucinated, what stays undecided."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.scorer import Block, Claim, DraftClaim, Shown, View
from groundwire.scorer.evidence import BlockKind
from groundwire.scorer.judges.offline import OfflineJudge


def shown(name: str, result: Any, *, tool: str | None = None, failed: bool = False, cut: int = 0) -> Shown:
    kinds: dict[str, BlockKind] = {"E": "tool", "U": "user", "S": "provided"}
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    block = Block(name=name, kind=kinds[name[0]], text=text, tool_name=tool, failed=failed)
    return Shown(block=block, text=text, cut=cut)


async def judged(claim: str, *evidence: Shown, media: int = 0) -> Claim:
    reply = await OfflineJudge().label("", [DraftClaim(text=claim)], View(shown=evidence, media=media))
    assert reply.value is not None
    (only,) = reply.value
    return only


DEEDS: dict[str, tuple[str, tuple[Shown, ...], str | None, str | None]] = {
    "against an error": (
        "I have refunded your order.",
        (shown("E1", "Error: payment not found", tool="refund_order", failed=True),),
        "hallucinated",
        "false_success",
    ),
    "against a failure that only its own text tells": (
        "Your booking has been successfully cancelled.",
        (shown("E1", {"success": False, "message": "too late"}, tool="cancel_booking"),),
        "hallucinated",
        "false_success",
    ),
    "with no tool that could": (
        "I've sent you an e-mail.",
        (shown("E1", {"order": "W-1"}, tool="get_order"),),
        "hallucinated",
        "false_success",
    ),
    "German, against an error": (
        "Ich habe Ihre Bestellung storniert.",
        (shown("E1", "Error: not allowed", tool="cancel_order", failed=True),),
        "hallucinated",
        "false_success",
    ),
    "Spanish, against an error": (
        "Su reserva ha sido cancelada.",
        (shown("E1", "Error: not allowed", tool="cancel_booking", failed=True),),
        "hallucinated",
        "false_success",
    ),
    "done": (
        "Your booking has been successfully cancelled.",
        (shown("E1", {"booking": "B7", "status": "cancelled"}, tool="cancel_booking"),),
        "supported",
        None,
    ),
    "done at the second attempt": (
        "I have cancelled your booking.",
        (
            shown("E1", "Error: busy", tool="cancelBooking", failed=True),
            shown("E2", {"ok": True}, tool="cancelBooking"),
        ),
        "supported",
        None,
    ),
    "asked for, but no tool says so": (
        "Three bags have been added.",
        (shown("U1", "Add three bags please."), shown("E1", {"cabin": "economy", "bags": 0}, tool="update_cabin")),
        None,
        None,
    ),
    "something else was changed": (
        "I have refunded your order.",
        (shown("E1", {"sent": 1}, tool="send_email"),),
        None,
        None,
    ),
    "somebody else's, in a passage": (
        "The bridge has been closed since the flood.",
        (shown("S1", "The bridge has been closed since the flood. It is old."),),
        "supported",
        None,
    ),
}


@pytest.mark.parametrize("name", DEEDS)
async def test_deeds(name: str) -> None:
    text, evidence, label, kind = DEEDS[name]
    claim = await judged(text, *evidence)
    assert (claim.label, claim.type) == (label, kind), claim.reason


async def test_a_failed_block_supports_nothing_but_its_failure() -> None:
    failed = shown("E1", {"price": 431.5}, tool="search", failed=True)
    assert (await judged("The price is 431.50.", failed)).label == "hallucinated"


async def test_what_the_user_said_and_what_was_provided_support() -> None:
    claim = await judged("Your budget is $1,200.", shown("U1", "My budget is 1200 dollars."), shown("E1", {"a": 1}))
    assert claim.label == "supported"
    assert claim.evidence is not None
    assert (claim.evidence.block, claim.evidence.verified) == ("U1", True)
    claim = await judged("The late fee is $45.", shown("S1", "Policy: the late fee is $45."), shown("E1", {"a": 1}))
    assert claim.label == "supported"


async def test_a_wish_is_no_fact() -> None:
    wish = shown("U1", "Please make sure we have an aisle seat and a middle seat together.")
    claim = await judged(
        "Seats: aisle seat and middle seat together", wish, shown("E1", {"flight": "HAT271"}, tool="book")
    )
    assert claim.label is None


async def test_what_was_cut_is_not_proof_of_invention() -> None:
    short = shown("E1", {"price": 20}, cut=500)
    assert (await judged("The parcel weighs 4.7 kg.", short)).reason == "undecided"
    assert (await judged("The price is $25.", short)).label == "hallucinated"


async def test_a_claim_about_media_is_not_checkable() -> None:
    claim = await judged("The picture shows 3 dogs.", media=1)
    assert (claim.label, claim.reason) == (None, "undecided")


async def test_a_figure_that_code_adds_up_is_supported_and_says_so() -> None:
    items = {"items": [{"price": 19.99}, {"price": 5.01}]}
    claim = await judged("The total is $25.00.", shown("E1", items))
    assert claim.label == "supported"
    assert "arithmetic" in claim.reason


async def test_a_total_of_many_amounts_under_one_name() -> None:
    amounts = [
        shown(f"E{index}", {"amount": amount}) for index, amount in enumerate((402, 306, 308, 16005, 77), start=1)
    ]
    claim = await judged("The total cost is $17,021.", *amounts)
    assert claim.label == "supported"
    assert claim.evidence is not None
    assert claim.evidence.quote == '"amount": 402'
    assert (await judged("The total cost is $17,022.", *amounts)).label == "hallucinated"


async def test_a_value_of_another_record_is_a_contradiction() -> None:
    orders = [{"order": "W-111", "tracking": 883311}, {"order": "W-222", "tracking": 774422}]
    claim = await judged("Order W-111 has tracking number 774422.", shown("E1", orders))
    assert (claim.label, claim.type) == ("hallucinated", "contradiction")
    assert (await judged("Order W-111 has tracking number 883311.", shown("E1", orders))).label == "supported"


async def test_a_charge_is_no_refund() -> None:
    payment = shown("E1", {"amount": -114})
    assert (await judged("The additional cost of $114 was high.", payment)).label is None
    assert (await judged("You get $114 back.", payment)).label == "supported"


async def test_a_small_number_counts_under_its_own_name_only() -> None:
    rules = shown("S1", "Every passenger may bring 3 items. Call 3 days before.")
    bags = shown("E1", {"total_bags": 3}, tool="get")
    claim = await judged("Total bags: 3", rules, bags)
    assert claim.label == "supported"
    assert claim.evidence is not None
    assert claim.evidence.path == "$.total_bags"


CATEGORIES: dict[str, tuple[str, Any, str | None]] = {
    "status agrees": ("Your order is delayed.", {"status": "delayed"}, "supported"),
    "status disagrees": ("Your order is on time.", {"status": "delayed"}, "hallucinated"),
    "status, German": ("Ihre Bestellung ist pünktlich.", {"status": "delayed"}, "hallucinated"),
    "status, Spanish": ("Su pedido está entregado.", {"status": "processing"}, "hallucinated"),
    "status, Chinese": ("您的订单已送达。", {"status": "processing"}, "hallucinated"),
    "status to come": ("Your order will be delivered soon.", {"status": "processing"}, None),
    "an adjective is no status": ("Returned items go to the shop.", {"status": "delivered"}, None),
    "yes or no": ("The ticket is refundable.", {"refundable": False}, "hallucinated"),
    "no agrees": ("The ticket is not refundable.", {"refundable": False}, "supported"),
    "no as a word": ("Insurance: No", {"insurance": "no"}, "supported"),
    "a refusal is no denial": ("I am unable to refund the insurance as it is cheap.", {"insurance": "yes"}, None),
    "two records differ": ("The ticket is refundable.", [{"refundable": False}, {"refundable": True}], None),
    "a labelled name": ("The carrier is DHL.", {"carrier": "UPS"}, "hallucinated"),
    "the same name": ("Carrier: UPS", {"carrier": "UPS"}, "supported"),
    "free": ("Shipping is free.", {"shipping": 0}, "supported"),
    "not free": ("Shipping is free.", {"shipping": 4.9}, "hallucinated"),
}


@pytest.mark.parametrize("name", CATEGORIES)
async def test_categories(name: str) -> None:
    text, result, label = CATEGORIES[name]
    claim = await judged(text, shown("E1", result, tool="lookup"))
    assert claim.label == label, claim.reason


async def test_the_record_that_the_claim_names_is_the_one_compared() -> None:
    orders = [{"id": "W-1001", "status": "delivered"}, {"id": "W-1002", "status": "pending"}]
    assert (await judged("Order W-1002 is delivered.", shown("E1", orders))).label == "hallucinated"
    assert (await judged("Order W-1001 is delivered.", shown("E1", orders))).label == "supported"


PROSE = (
    "The Eiffel Tower is a wrought-iron lattice tower in Paris. It was completed in 1889 and is 330 metres tall. "
    "Gustave Eiffel's company designed and built the tower. It has three levels for visitors."
)


async def test_prose_is_compared_by_wording() -> None:
    claim = await judged("The tower has three levels for visitors.", shown("S1", PROSE))
    assert claim.label == "supported"
    assert claim.evidence is not None
    assert claim.evidence.quote == "It has three levels for visitors."
    claim = await judged("Elephants communicate through infrasound across savannahs.", shown("S1", PROSE))
    assert (claim.label, claim.type) == ("hallucinated", "unsupported_addition")
    assert claim.probability is not None
    assert claim.probability > 0.8


async def test_a_number_behind_markdown_is_seen() -> None:
    claim = await judged("The population is **999** million.", shown("S1", "The population is 67 million."))
    assert (claim.label, claim.type) == ("hallucinated", "contradiction")


async def test_an_invented_address_is_a_fabricated_reference() -> None:
    claim = await judged("See https://example.com/refund-form.", shown("E1", {"price": 20}))
    assert (claim.label, claim.type) == ("hallucinated", "fabricated_reference")


async def test_without_evidence_nothing_is_supported() -> None:
    assert (await judged("The price is $20.")).label == "hallucinated"
    assert (await judged("It is lovely.")).label is None


@settings(max_examples=60, deadline=None)
@given(claim=st.text(max_size=120), text=st.text(max_size=200), cut=st.integers(min_value=0, max_value=1))
async def test_nothing_raises_and_a_decided_claim_is_on_its_side(claim: str, text: str, cut: int) -> None:
    found = await judged(claim, shown("E1", text, tool="lookup", cut=cut), shown("U1", claim[::-1]))
    assert found.text == claim
    assert found.probability is not None
    if found.label == "supported":
        assert found.probability <= 0.5
        assert found.evidence is not None
        assert found.evidence.verified
    elif found.label == "hallucinated":
        assert found.probability >= 0.5
        assert found.type is not None
    else:
        assert (found.reason, found.evidence) == ("undecided", None)


HOTELS = {"hotels": [{"name": "Hotel Lindenhof", "distance_m": 350}, {"name": "Gasthaus Adler", "distance_m": 900}]}


async def test_a_record_under_a_name_that_is_nowhere_is_a_contradiction() -> None:
    wrong = await judged("Hotel Bellevue is 900 m away.", shown("E1", HOTELS))
    assert (wrong.label, wrong.type) == ("hallucinated", "contradiction")
    assert "Gasthaus Adler" in wrong.reason
    assert wrong.evidence is not None
    assert (wrong.evidence.path, wrong.evidence.verified) == ("$.hotels[1].name", True)
    right = await judged("Gasthaus Adler is 900 m away.", shown("E1", HOTELS))
    assert right.label == "supported"


async def test_figures_of_a_name_that_is_nowhere_support_nothing() -> None:
    claim = await judged("Hotel Bellevue is 350 m or 900 m away.", shown("E1", HOTELS))
    assert (claim.label, claim.reason) == (None, "undecided")
