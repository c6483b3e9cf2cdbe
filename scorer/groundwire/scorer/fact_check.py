"""Whether a request needs facts at all: by rules over its words, and by a judge where they don't tell."""

import re
from dataclasses import dataclass, field
from typing import Literal

from groundwire.scorer.judge import Failure, Judge, Reply
from groundwire.scorer.spend import Usage

__all__ = ["FactCheck", "FactKind", "FactLabel", "check_facts", "read_request"]

FactLabel = Literal["needs_fact_check", "no_fact_check_needed", "unknown"]
FactKind = Literal["question", "small_talk", "creative", "transformation"]
"""What the rules saw in a request: a question for facts, chat, invention, or work on text that it brings along."""

LONGEST_READ = 4_000
"""Most characters of a request that the rules read: what asks for something stands near the beginning."""
LONGEST_CREATIVE = 400
"""Most characters of a request for a poem or a story; in a longer one there may be more that is asked for."""

_CHAT_WORDS = """
hi hello hey hiya yo thanks thank thx cheers ok okay bye goodbye welcome sorry please good morning evening afternoon
night nice great perfect cool awesome day weekend you too so much very a lot have the see later again there all everyone
for your help how are is it going doing today it's i'm fine and well yes no yep nope haha lol
hallo guten morgen tag abend danke dank vielen schön sehr tschüss bitte wie geht's geht es dir ihnen gut und moin servus
hoi dankjewel bedankt dag goedemorgen
bonjour bonsoir salut merci beaucoup au revoir ça va comment allez vous tu bien et d'accord oui non
hola buenos buenas días dias tardes noches gracias muchas adiós adios qué tal cómo estás está vale sí
olá bom boa dia tarde noite obrigado obrigada tchau tudo bem ciao buongiorno buonasera grazie mille come stai va bene
cześć dziękuję merhaba teşekkürler teşekkür ederim hej tack
"""
_GREETINGS = """
hi hello hey hiya yo thanks thank thx cheers bye goodbye good nice great perfect cool awesome hallo guten danke dank
tschüss moin servus hoi dankjewel bedankt goedemorgen bonjour bonsoir salut merci revoir hola buenos buenas gracias
adiós adios olá bom boa obrigado obrigada tchau ciao buongiorno buonasera grazie cześć dziękuję merhaba teşekkürler
teşekkür hej tack
"""
_SMALL_TALK, _CORE = frozenset(_CHAT_WORDS.split()), frozenset(_GREETINGS.split())
"""Of `_CORE`: without one of these it is no chat, for a bare "yes, please" may confirm anything."""
_HOW_ARE_YOU = re.compile(
    r"(?i)^\W*(?:how (?:are|is|have)|wie geht|comment (?:ça|allez|vas)|ça va|qué tal|tudo bem|come)\b"
)
_SMALL_TALK_CJK = re.compile(
    r"(?:你好|您好|谢谢|多谢|再见|早上好|晚上好|好的|こんにちは|こんばんは|おはよう(?:ございます)?|"
    r"ありがとう(?:ございます)?|さようなら|안녕하세요|감사합니다|고마워요?)[\s!！。.,，、~〜]*"
)
_WORK = (
    r"(?:poems?|stor(?:y|ies)|songs?|jokes?|haikus?|limericks?|lyrics|sonnets?|riddles?|fairy ?tales?|slogans?|"
    r"taglines?|raps?|gedichte?|geschichten?|märchen|witze?|lied(?:er)?|reim|po[eè]mes?|histoires?|chansons?|blagues?|"
    r"contes?|poemas?|cuentos?|canci[oó]n(?:es)?|chistes?|poesi[ae]|stori[ae]|canzon[ei]|barzellett[ae]|piadas?|"
    r"histórias?|gedicht|verhaal)"
)
_CREATIVE = re.compile(
    r"(?i)\b(?:write|compose|make up|invent|create|generate|tell(?: me| us)?|schreibe?|erfinde|dichte|erzähle?|"
    r"écri[st]|écrivez|invente|raconte|compose|escribe|inventa|cuenta|compón|scrivi|racconta|escreva|conte|schrijf)\b"
    rf"[^.?!\n]{{0,40}}?\b{_WORK}\b|写一?首诗|写一?个故事|讲一?个笑话|詩を書いて|物語を書いて"
)
_GIVEN_FACTS = re.compile(
    r"(?i)\b(?:based on|according to|using (?:the|our|this|these)|true|real|actual|basierend auf|laut|wahre?|"
    r"d'après|selon|vraie?|basad[oa] en|según|verdader[oa]|real(?:es)?)\b"
)
_TRANSFORMS = re.compile(
    r"(?i)^\W*(?:(?:please|can you|could you|would you|bitte|kannst du|können sie|peux[- ]tu|pouvez[- ]vous|puedes|"
    r"podrías|por favor|puoi|per favore)\W+)*"
    r"(?:translate|re-?write|rephrase|reword|paraphrase|proof-?read|re-?format|shorten|simplify|"
    r"(?:correct|fix|improve) (?:the |my )?(?:grammar|spelling|punctuation|typos|style|wording)|"
    r"übersetzen?|übersetze?|umformulieren|formuliere?|korrigiere?|kürze|traduis|traduisez|traduire|reformule[zr]?|"
    r"corrige[zr]?|traduce|traducir|reescribe|reformula|corrige|traduci|riscrivi|correggi|traduza|reescreva|corrija|"
    r"vertaal|herschrijf)\b"
)
_TRANSFORMS_CJK = re.compile(r"^\W*(?:请|請)?(?:把.{0,20})?(?:翻译|翻譯|改写|改寫|润色|校对)|^.{0,20}(?:翻訳|書き直)")
_TEXT_BEGINS = re.compile(r"[:：\n\"“„«「『'‘`]")
_TEXT_ENDS = re.compile(r"[\"”“»」』`][^\"”“»」』`]*\Z")
_QUESTION = re.compile(
    r"(?i)\b(?:who|what|when|where|which|whose|why|how (?:many|much|long|old|far|often|big|tall|do|does|did|can|to)|"
    r"is there|are there|does|did|status|price|cost|balance|total|date|deadline|policy|"
    r"(?<![^.!?\n] )(?:is|are|was|were|has|have|will) (?:my|the|it|this|that|there|he|she|they)|"
    r"list|show|find|look up|search|explain|describe|compare|calculate|summari[sz]e|give me|tell me (?:about|the|if)|"
    r"wer|was|wann|wo|welche\w*|warum|wie ?(?:viele?|lange?|oft|hoch|alt)|erkläre?|zeige?|nenne?|liste|"
    r"quién(?:es)?|cuándo|dónde|cuánt\w+|cuál(?:es)?|por qué|explica|muestra|dime|"
    r"qui|quand|où|combien|quel\w*|pourquoi|explique\w*|montre\w*|"
    r"chi|quando|dove|quanto|quanti|quale|perché|spiega|quem|onde|qual|wie|wanneer|waar|hoeveel|welke)\b"
    r"|[?？؟]|什么|多少|哪|谁|何时|为什么|いつ|どこ|誰|何|いくら|언제|어디|누구|무엇|얼마"
)
_OPINION = re.compile(
    r"(?i)\b(?:what do you (?:think|prefer)|do you (?:like|love|feel|enjoy|want)|how do you feel|"
    r"your (?:opinion|favou?rite)|are you (?:a |an )?(?:human|bot|robot|ai|real|there)|was (?:denkst|meinst) du|"
    r"magst du|qu'en penses[- ]tu|qué (?:opinas|piensas)|te gusta|cosa ne pensi)\b|\bcan you help(?: me)?\W*$"
)


@dataclass(frozen=True, kw_only=True)
class FactCheck:
    """What is known of a request's need for facts."""

    label: FactLabel
    """`unknown` is never "not needed"."""
    by: Literal["rules", "judge"]
    kind: FactKind | None = None
    """What the rules saw, where they decided."""
    failure: Failure | None = None
    """Why it is unknown: `no_request`, `undecided`, or what the judge said."""
    reply: Reply[bool] = field(default_factory=Reply)
    """What the judge said, with its usage, flags and notes, where it was asked."""

    @property
    def usage(self) -> Usage:
        """What asking cost."""
        return self.reply.usage


def read_request(request: str) -> FactKind | None:
    """What the rules see in a request; None where they don't tell.

    They say that no facts are needed only of what is nothing else: a request that also asks for something stays open.
    """
    text = request.strip()[:LONGEST_READ]
    if _is_small_talk(text):
        return "small_talk"
    if _is_transformation(request.strip()):
        return "transformation"
    asks = _QUESTION.search(text) is not None
    if _CREATIVE.search(text):
        plain = len(request) <= LONGEST_CREATIVE and not asks and not _GIVEN_FACTS.search(text)
        return "creative" if plain else None
    return "question" if asks and not _OPINION.search(text) else None


async def check_facts(request: str, judge: Judge | None = None) -> FactCheck:
    """Whether a request needs facts: the rules first, then the judge where there is one that can tell.

    The judge spends on the account that it is bound to. Raises what it raises (`GiveUp`, `RetryLater`).
    """
    if not request.strip():
        return FactCheck(label="unknown", by="rules", failure=Failure(status="unknown", reason="no_request"))
    kind = read_request(request)
    if kind is not None:
        label: FactLabel = "needs_fact_check" if kind == "question" else "no_fact_check_needed"
        return FactCheck(label=label, by="rules", kind=kind)
    if judge is None or "needs_facts" not in judge.capabilities:
        return FactCheck(label="unknown", by="rules", failure=Failure(status="unknown", reason="undecided"))
    reply = await judge.needs_facts(request)
    if reply.value is None:
        failure = reply.failure or Failure(status="error", reason="judge_gave_nothing")
        return FactCheck(label="unknown", by="judge", failure=failure, reply=reply)
    return FactCheck(label="needs_fact_check" if reply.value else "no_fact_check_needed", by="judge", reply=reply)


def _is_small_talk(text: str) -> bool:
    """Whether every word is one of chat: one word more may ask for something."""
    if _SMALL_TALK_CJK.fullmatch(text):
        return True
    words = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+", text.casefold().replace("’", "'"))
    if not 0 < len(words) <= 12:
        return False
    return all(word in _SMALL_TALK for word in words) and (
        not _CORE.isdisjoint(words) or _HOW_ARE_YOU.match(text) is not None
    )


def _is_transformation(text: str) -> bool:
    """Whether it asks for work on a text that it brings along, and for nothing else."""
    found = _TRANSFORMS.match(text) or _TRANSFORMS_CJK.match(text)
    if found is None:
        return False
    begin = _TEXT_BEGINS.search(text, found.end())
    if begin is None or not text[begin.end() :].strip():
        return False  # nothing is given: the text must be found or made
    if _QUESTION.search(text, found.end(), begin.start()):
        return False
    if begin[0] in ":：\n":
        return True
    after = _TEXT_ENDS.search(text, begin.end())
    return after is not None and not _QUESTION.search(after[0])
