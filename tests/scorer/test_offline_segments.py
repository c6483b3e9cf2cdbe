"""How an answer is cut into statements, and what kind each is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.scorer.judges.languages import guess
from groundwire.scorer.judges.phrases import kind_of
from groundwire.scorer.judges.segments import segments
from groundwire.scorer.judges.sentences import sentences


def facts(answer: str) -> list[str]:
    return [claim.text for claim in segments(answer) if claim.kind == "fact"]


SENTENCES = {
    "abbreviations": ("Approx. 3 kg. Dr. Smith paid $3.5 million. He left.", 3),
    "a zone before a capital": ("It leaves at 13:00 EST. The fee is $5.", 2),
    "German ordinals": ("Am 3. Mai war er da. Die Rechnung Nr. 5 ist bezahlt.", 2),
    "CJK": ("价格是100元。航班在明天。好吗？", 3),
    "Japanese quotation goes on": ("彼は「行く。」と言った。終わり。", 2),
    "exclamation": ("It is confirmed! Here it is.", 2),
    "lone surrogate": ("\ud800 is odd. It is 5 \udfff.", 2),
    "initials": ("J. R. Smith wrote it. It sold.", 2),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_sentences(name: str) -> None:
    text, count = SENTENCES[name]
    places = sentences(text)
    assert len(places) == count, [text[start:end] for start, end in places]
    assert "".join(text.split()) == "".join("".join(text[start:end].split()) for start, end in places)


@given(st.text(max_size=200))
def test_sentences_are_in_order_and_apart_and_never_raise(text: str) -> None:
    end_before = 0
    for start, end in sentences(text):
        assert end_before <= start < end <= len(text)
        end_before = end


@given(st.text(alphabet=st.characters(), max_size=200))
def test_statements_are_verbatim_in_order_and_apart(answer: str) -> None:
    end_before = 0
    for claim in segments(answer):
        assert claim.start is not None
        assert claim.end is not None
        assert end_before <= claim.start < claim.end
        assert answer[claim.start : claim.end] == claim.text
        end_before = claim.end


def test_a_list_item_a_table_row_and_a_member_are_statements() -> None:
    assert facts("Details:\n\n- **Price:** $5\n- Colour: red\n  1. Weight: 3 kg") == [
        "**Price:** $5",
        "Colour: red",
        "Weight: 3 kg",
    ]
    assert facts("| Item | Price |\n|---|---:|\n| Pen | $1.20 |\n| Ink | $3 |") == ["Pen | $1.20", "Ink | $3"]
    assert facts('{"total": 3, "status": "open", "note": null}') == ['"total": 3', '"status": "open"']


CLAUSES = {
    "Flight LH441 leaves at 14:20, lands at 18:05, costs 431.50 EUR and has 9 seats left.": [
        "Flight LH441 leaves at 14:20",
        "lands at 18:05",
        "costs 431.50 EUR",
        "has 9 seats left.",
    ],
    "It takes between 5 and 7 business days.": ["It takes between 5 and 7 business days."],
    "It opens on May 20, 2024, for 3 adults and 2 children.": [
        "It opens on May 20, 2024, for 3 adults and 2 children."
    ],
    "Orders UDMOP1, XAZ3C0 and 4XGCCM cost $5 each.": ["Orders UDMOP1, XAZ3C0 and 4XGCCM cost $5 each."],
    "I paid 100 USD and 50 EUR.": ["I paid 100 USD and 50 EUR."],
    "航班于14:20起飞，18:05到达，票价为431.50欧元。": ["航班于14:20起飞", "18:05到达", "票价为431.50欧元。"],
    "The total price is $243, and a refund of $44 will be processed.": [
        "The total price is $243",
        "a refund of $44 will be processed.",
    ],
}


@pytest.mark.parametrize("answer", CLAUSES)
def test_a_clause_with_its_own_figure_is_a_statement(answer: str) -> None:
    assert facts(answer) == CLAUSES[answer]


KINDS = {
    "Hi.": "filler",
    "Hello, Mia!": "filler",
    "Safe travels!": "filler",
    "Here are the details:": "filler",
    "## Flights": "filler",
    "Payment:": "filler",
    "Vielen Dank für Ihre Anfrage.": "confirmation",
    "Sure!": "confirmation",
    "You're welcome!": "confirmation",
    "¡Claro!": "confirmation",
    "好的。": "confirmation",
    "I'm here to help.": "self_reference",
    "I'm sorry, I can't find that in the documents.": "self_reference",
    "The documents do not mention a warranty.": "self_reference",
    "Ich kann das in den Unterlagen nicht finden.": "self_reference",
    "No puedo encontrar esa información.": "self_reference",
    "I'm unable to change it.": "self_reference",
    "I'm unable to change it because the fare is non-refundable.": "fact",
    "I'll check that for you.": "next_step",
    "Would you like me to book it for $30?": "next_step",
    "If you have any other questions, feel free to ask.": "next_step",
    "However, I can transfer you to an agent.": "next_step",
    "Name: please provide the first name.": "next_step",
    "Bitte geben Sie Ihre Nummer an.": "next_step",
    "请提供您的订单号。": "next_step",
    "If you cancel before May 3, the fee is $25.": "fact",
    "I have refunded $50 to your card.": "fact",
    "I understand your concern, but the limit is $100.": "fact",
    "Your order has shipped.": "fact",
    "Yes, it is refundable.": "fact",
    "GRADE: C": "filler",
    "[END DATA]": "filler",
}


@pytest.mark.parametrize("text", KINDS)
def test_kinds(text: str) -> None:
    assert {claim.kind for claim in segments(text)} == {KINDS[text]}


def test_a_greeting_does_not_dilute_two_facts() -> None:
    assert facts("Hi. I'm here to help. The capital is Paris. It has 2.1 million people.") == [
        "The capital is Paris.",
        "It has 2.1 million people.",
    ]


def test_a_phrase_after_a_line_break_within_a_sentence_opens_nothing() -> None:
    assert facts("The price is $5,\nthank you for asking.") == ["The price is $5,\nthank you for asking."]


def test_kind_of_reads_marks_and_openings() -> None:
    assert kind_of("**Unfortunately, please hold on.**") == "next_step"
    assert kind_of("—") == "filler"


LANGUAGES = {
    "The total of your order is 5 dollars.": "en",
    "Der Flug kostet 431,50 € und ist noch nicht bezahlt.": "de",
    "El vuelo cuesta 431,50 € y sale de la terminal.": "es",
    "Le billet coûte 5 € et il est dans votre boîte.": "fr",
    "航班LH441于14:20起飞": "zh",
    "価格は100円です": "ja",
    "Заказ доставлен": "ru",
    "OK 5": "en",
}


@pytest.mark.parametrize("text", LANGUAGES)
def test_the_language_of_a_text(text: str) -> None:
    assert guess(text) == LANGUAGES[text]
