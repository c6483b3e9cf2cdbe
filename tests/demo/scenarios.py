"""What the demo agents are asked, what their tools return, and what the fake model says: invented small businesses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["SCENARIOS", "Call", "Scenario"]


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call that the fake model makes."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One conversation with one agent."""

    system: str
    question: str
    steps: tuple[Call | str, ...]
    """The model's replies in order; the last is the answer."""
    tools: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    closing: tuple[str, ...] = ()
    """What the user and then the model say after the last step, in turn."""


def _refund_times_out(**_: Any) -> Any:
    raise TimeoutError("the payment service did not answer within 10 s")


def _storage_units() -> list[dict[str, Any]]:
    """The whole list of a storage hall: 130 units, far more than a judge is shown."""
    units = []
    for number in range(130):
        size = 1.5 + (number * 7 % 12) * 0.5
        units.append(
            {
                "unit": f"{'ABCDE'[number // 26]}-{number % 26 + 1:02d}",
                "floor": number // 26,
                "size_m2": size,
                "monthly_eur": 24 + round(size * 11) + number // 26 * 3,
                "free_from": f"2026-12-{number * 5 % 28 + 1:02d}",
            }
        )
    return units


SCENARIOS: dict[str, Scenario] = {
    "grounded": Scenario(
        system="You are the order desk of a kitchenware shop. Answer from the order system.",
        question="Where is my order KC-20418 and what did I pay in the end?",
        steps=(
            Call(tool="get_order", arguments={"order_id": "KC-20418"}),
            "Your order KC-20418 left us on 24 November with PostNord and is expected on 28 November. "
            "It holds 4 stoneware mugs at €14.50 each. With shipping of €6.90 you paid €64.90 in total.",
        ),
        tools={
            "get_order": lambda order_id: {
                "order_id": order_id,
                "status": "shipped",
                "carrier": "PostNord",
                "shipped_on": "2026-11-24",
                "expected_on": "2026-11-28",
                "items": [{"name": "Stoneware mug", "quantity": 4, "unit_price": 14.5}],
                "shipping": 6.9,
                "total": 64.9,
                "currency": "EUR",
            }
        },
    ),
    "invented_number": Scenario(
        system="You explain energy bills to customers of Evergreen Power.",
        question="How high is my October bill, until when is my tariff fixed, and am I using more than before?",
        steps=(
            Call(tool="get_bill", arguments={"account": "EN-5531", "month": "2026-10"}),
            Call(tool="get_tariff", arguments={"account": "EN-5531"}),
            "Your bill for October is €100.01 for 312 kWh, due on 5 December 2026. "
            "Your tariff Evergreen Fix is fixed until 31 March 2027. "
            "You used 18 % less electricity than in September.",
        ),
        tools={
            "get_bill": lambda account, month: {
                "account": account,
                "month": month,
                "kwh": 312,
                "price_per_kwh": 0.284,
                "standing_charge": 11.4,
                "total": 100.01,
                "currency": "EUR",
                "due": "2026-12-05",
            },
            "get_tariff": lambda account: {"account": account, "name": "Evergreen Fix", "fixed_until": "2027-03-31"},
        },
    ),
    "wrong_entity": Scenario(
        system="You help guests of the Lindau concert hall to find a room.",
        question="Which hotels near the concert hall are free on 12 December, and which has parking?",
        steps=(
            Call(tool="search_hotels", arguments={"near": "concert hall", "night": "2026-12-12"}),
            "Two hotels are free on 12 December. Hotel Lindenhof is 350 m from the hall, costs €129 and has parking. "
            "Hotel Bellevue is 900 m away and costs €98, without parking.",
        ),
        tools={
            "search_hotels": lambda near, night: {
                "near": near,
                "night": night,
                "hotels": [
                    {"name": "Hotel Lindenhof", "distance_m": 350, "price_eur": 129, "parking": True},
                    {"name": "Gasthaus Adler", "distance_m": 900, "price_eur": 98, "parking": False},
                ],
            }
        },
    ),
    "fabricated_tool_result": Scenario(
        system="You book appointments for the Harbour Street clinic.",
        question="When can I see Dr. Okafor, and does my insurance pay for it?",
        steps=(
            Call(tool="find_slots", arguments={"doctor": "Okafor"}),
            "Dr. Okafor has three free slots: 3 December at 09:20, 3 December at 15:40 and 7 December at 08:00. "
            "I also checked with your insurer: SilverCare covers the visit with a co-payment of $25, "
            "confirmation number SC-88213.",
        ),
        tools={
            "find_slots": lambda doctor: {
                "clinic": "Harbour Street",
                "doctor": f"Dr. {doctor}",
                "slots": ["2026-12-03T09:20", "2026-12-03T15:40", "2026-12-07T08:00"],
            }
        },
    ),
    "failed_tool_answered": Scenario(
        system="You handle payments for a bicycle rental.",
        question="You charged me twice for the weekend. Please send the second payment, PM-7740, back.",
        steps=(
            Call(tool="get_payment", arguments={"payment_id": "PM-7740"}),
            Call(tool="refund_payment", arguments={"payment_id": "PM-7740"}),
            "Payment PM-7740 of €39.00 was taken from the card ending in 2206. "
            "I have refunded it, and the money will be on your account within 3 business days.",
        ),
        tools={
            "get_payment": lambda payment_id: {
                "payment_id": payment_id,
                "amount": 39.0,
                "currency": "EUR",
                "status": "captured",
                "card_last4": "2206",
            },
            "refund_payment": _refund_times_out,
        },
    ),
    "no_claims": Scenario(
        system="You keep the customers' settings of a garden centre up to date.",
        question="Please take me off the newsletter.",
        steps=(
            Call(tool="set_newsletter", arguments={"customer": "G-118", "subscribed": False}),
            "Done!",
        ),
        tools={"set_newsletter": lambda customer, subscribed: {"customer": customer, "subscribed": subscribed}},
        closing=("Great, thanks!", "You're welcome! Let me know if there is anything else I can help you with."),
    ),
    "no_evidence": Scenario(
        system="You answer questions about the offices of a language school from its handbook.",
        question="When is the office in Porto open?",
        steps=(
            Call(tool="search_handbook", arguments={"query": "opening hours Porto"}),
            "The office in Porto is open from Monday to Friday, 09:00 to 17:30.",
        ),
        tools={"search_handbook": lambda query: ""},
    ),
    "orchestrator": Scenario(
        system="You plan company outings and leave the travel to the travel agent.",
        question="Plan a day trip to the lake for 14 people on 20 March.",
        steps=(
            Call(tool="ask_travel_agent", arguments={"request": "Coach to the lake for 14 people on 2027-03-20"}),
            "The coach leaves at 08:15 and costs €420 for all 14 of you.",
        ),
    ),
    "travel_agent": Scenario(  # the sub-agent of the one above
        system="You find coaches.",
        question="Coach to the lake for 14 people on 2027-03-20",
        steps=(
            Call(tool="find_coach", arguments={"date": "2027-03-20", "seats": 14}),
            "A coach with 20 seats leaves at 08:15 for €420.",
        ),
        tools={
            "find_coach": lambda date, seats: {"date": date, "seats": max(seats, 20), "departs": "08:15", "eur": 420}
        },
    ),
    "german": Scenario(
        system="Du gibst Auskunft über den Bestand der Stadtbücherei.",
        question="Habt ihr »Der letzte Fährmann« da, und was kostet eine Vormerkung?",
        steps=(
            Call(tool="suche_medium", arguments={"titel": "Der letzte Fährmann"}),
            "»Der letzte Fährmann« von Ines Haldorf steht in der Zweigstelle Nordstadt unter ROM HAL 12. "
            "Zwei Exemplare sind verfügbar, die Leihfrist beträgt 28 Tage. "
            "Eine Vormerkung kostet 2,50 €.",
        ),
        tools={
            "suche_medium": lambda titel: {
                "titel": titel,
                "autorin": "Ines Haldorf",
                "zweigstelle": "Nordstadt",
                "signatur": "ROM HAL 12",
                "exemplare_verfügbar": 2,
                "leihfrist_tage": 28,
                "vormerkgebühr_eur": 1.5,
            }
        },
    ),
    "spanish": Scenario(
        system="Atiendes a los clientes de un taller de coches.",
        question="¿Está listo mi coche? La orden es TR-3309.",
        steps=(
            Call(tool="estado_reparacion", arguments={"orden": "TR-3309"}),
            "Sí, su Seat León está terminado y puede recogerlo a partir de las 16:00 del 2 de diciembre. "
            "La reparación cuesta 412,75 € y tiene 12 meses de garantía.",
        ),
        tools={
            "estado_reparacion": lambda orden: {
                "orden": orden,
                "vehiculo": "Seat León",
                "estado": "terminado",
                "recogida_desde": "2026-12-02T16:00",
                "total": 412.75,
                "moneda": "EUR",
                "garantia_meses": 12,
            }
        },
    ),
    "long_tool_result": Scenario(
        system="You rent out storage units. Answer from the list of units.",
        question="How big is unit C-17, what does it cost a month and when is it free?",
        steps=(
            Call(tool="list_units", arguments={"hall": "Weidenallee"}),
            "Unit C-17 has 5.5 m², costs €90 a month and is free from 5 December 2026.",
        ),
        tools={"list_units": lambda hall: {"hall": hall, "units": _storage_units()}},
    ),
}
