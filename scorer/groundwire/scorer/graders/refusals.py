"""Does the answer refuse? A refusal is a result and no failure: it is told apart from an answer, in many languages."""

import re
from typing import Literal

from groundwire.scorer.graders.sample import Grade, Sample
from groundwire.scorer.judges.languages import guess
from groundwire.scorer.judges.phrases import kind_of
from groundwire.scorer.judges.sentences import sentences

__all__ = ["Refusal", "read_refusal", "refusal"]

Refusal = Literal["refused", "partial", "answered"]
"""`partial`: it says that it can't answer, and goes on to state something all the same."""

_PATTERNS = {
    "en": (
        r"\bi (?:\w+ ){0,2}?(?:do not|don['’]?t|did not|didn['’]?t) (?:\w+ )?(?:have(?! to\b)|know|find|see|possess)\b",
        r"\bwe (?:\w+ ){0,2}?(?:do not|don['’]?t) (?:\w+ )?(?:know|have (?:\w+ ){0,3}?(?:information|details?|data|"
        r"records?|answer))\b",
        r"\b(?:documents?|documentation|docs|sources?|context|materials?|text|articles?|polic(?:y|ies)|passages?|"
        r"pages?|"
        r"information|results?) (?:\S+ ){0,5}?(?:do(?:es)? not|don['’]?t|doesn['’]?t|did not|didn['’]?t) (?:\w+ )?"
        r"(?:contain|include|mention|specify|provide|cover|state|say|address|discuss|answer|indicate|list)\b",
        r"(?:\b(?:i|we)(?: \w+){0,2}? |\A\W*(?:(?:sorry|unfortunately),? )?)(?:can(?:not|['’]?t)|could(?: not|n['’]?t)|"
        r"will not|won['’]?t|(?:am |are |was |were )?(?:not able|unable) to) (?:\w+ ){0,3}?(?:help|assist|answer|"
        r"provide|"
        r"find|share|confirm|comply|say|tell|discuss|determine|verify|disclose|give|offer|speculate|see|do (?:that|"
        r"this))\b",
        r"\bi['’]?(?:m| am) (?:\w+ ){0,2}?(?:not able|unable|not allowed) to\b|\bwe['’]re unable to\b",
        r"\b(?:there is|there['’]s|there are|i have|i see|i found) (?:no|nothing|not enough|insufficient)\b"
        r"(?=.*\b(?:information|info|details?|data|mention|evidence|answer|sources?|documents?)\b)",
        r"\bno (?:information|mention|details?)\b.*\b(?:available|found|provided|given|about|on|in)\b",
        r"\b(?:is|are|was|were)(?: not|n['’]t) (?:mentioned|covered|included|specified|stated|provided|addressed|"
        r"described|available|found) (?:anywhere )?(?:in|by) (?:\w+ ){0,3}?(?:documents?|documentation|docs|sources?|"
        r"context|materials?|information|knowledge base|text)\b|\b(?:is|are)(?: not|n['’]t) mentioned\b",
        r"\b(?:must|have to|need to) decline\b|\bi decline\b|\boutside (?:of )?(?:my|the) (?:scope|knowledge)\b|"
        r"\bbeyond my (?:scope|knowledge|abilities)\b|\bnot something (?:i|we) can\b|\bagainst my guidelines\b",
    ),
    "de": (
        r"\b(?:ich|mir|wir|uns)\b[^.]{0,60}\b(?:keine?n?|nichts?)\b[^.]{0,40}\b(?:informationen?|angaben?|daten|"
        r"auskunft|"
        r"antwort|hinweise?|beantworten|sagen|helfen|weiterhelfen|finden|bestätigen|wissen|weiß|vor)\b",
        r"\bweiß ich (?:\w+ )?nicht\b|\bich weiß (?:\S+ ){0,3}?nicht\b|\bkeine (?:informationen?|angaben|auskunft)\b|"
        r"\bnicht (?:erwähnt|angegeben|aufgeführt)\b|\bgeht aus (?:\w+ ){1,3}nicht hervor\b",
    ),
    "fr": (
        r"\bje n['’]ai (?:\w+ )?(?:pas|aucune?|rien)\b|\bnous n['’]avons (?:pas|aucune?) (?:\S+ )?(?:information|"
        r"donn[ée]e)|"
        r"\b(?:je|nous) ne (?:dispos|sa|trouv|connai)\w+ (?:pas|d['’]aucune?)\b|"
        r"\b(?:je|nous) ne (?:peux|pouvons|puis) (?:\S+ )?(?:pas|malheureusement)\b|\baucune information\b|"
        r"\bn['’]est pas (?:mentionn|indiqu|pr[ée]cis)|\b(?:documents?|sources?|textes?) ne \w+ (?:pas|aucune?)\b",
    ),
    "es": (
        r"\bno (?:tengo|dispongo|cuento con|encuentro|encontr[ée]|sé|puedo|podemos (?:ayud|respond|confirm))",
        r"\bno (?:hay|tenemos|disponemos de) (?:\w+ ){0,3}?(?:informaci|datos|detalles|menci)",
        r"\bno (?:se )?(?:menciona|especifica|figura|aparece) |\b(?:documentos?|fuentes?) no ",
    ),
    "it": (
        r"\bnon (?:ho|dispongo|trovo|so|posso|sono in grado|ci sono informazioni|abbiamo informazioni|"
        r"è (?:indicat|menzionat|specificat))",
    ),
    "pt": (
        r"\bn[ãa]o (?:tenho|disponho|encontr(?:o|ei)|sei|posso|consigo|[ée] mencionad|h[áa] informa|temos informa)",
    ),
    "nl": (
        r"\b(?:ik|we|wij)\b[^.]{0,60}\b(?:geen|niet)\b[^.]{0,40}\b(?:informatie|gegevens|antwoord|helpen|beantwoorden|"
        r"vinden|zeggen|weten|over)\b|\bgeen informatie\b|\bik weet (?:\w+ )?niet\b|\bniet (?:vermeld|genoemd)\b",
    ),
    "pl": (
        r"\bnie (?:mam(?! obowiązku)|posiadam|wiem|mog[ęe]|znalaz\w+|znajduj[ęe]|jestem w stanie|"
        r"ma (?:informacji|danych)|mamy informacji)|\bbrak (?:informacji|danych)\b",
    ),
    "sv": (
        r"\bjag (?:har|hittar|kan|vet)\b[^.]{0,30}\b(?:inte|ingen|inga)\b|\b(?:har|kan) jag\b[^.]{0,30}\b(?:inte|ingen|"
        r"inga)\b|\bingen information\b",
    ),
    "tr": (r"\b(?:bilgim yok|bilgi (?:yok|bulunm\w+)|bilmiyorum|yardımcı olam\w+|bulamad\w+|cevap veremem\w*)",),
    "ru": (
        r"у (?:меня|нас) нет (?:\w+ ){0,3}?(?:информац|данных|сведен|ответа|доступа)|"
        r"\b(?:я|мы)\b (?:\w+ ){0,2}?не (?:могу|можем|знаю|знаем|наш[её]л|нашла|нашли|располага)|не могу (?:\w+ ){0,2}?"
        r"(?:ответить|помочь|найти)|не (?:указан|упомин|упомян|говорится|сказано)|нет (?:информации|данных|сведений)",
    ),
    "uk": (
        r"(?:у (?:мене|нас) )?немає (?:\w+ ){0,2}?(?:інформації|даних)|\bя (?:\w+ )?не (?:можу|знаю|знайш)|"
        r"не (?:вказан|згадан)",
    ),
    "ar": (r"لا (?:أملك|تتوفر|يمكنني|أستطيع|أعرف|أجد)|لا توجد معلومات|ليس(?:ت)? لد[يى]|لم أجد|لا أعلم",),
    "hi": (r"(?:जानकारी|सूचना) (?:उपलब्ध )?नहीं|नहीं (?:बता|दे) सकत|मदद नहीं कर|मुझे नहीं (?:पता|मालूम)|पता नहीं",),
    "zh": (
        r"(?:没有|沒有|未|并无|無|无)\S{0,8}(?:信息|資訊|资料|資料|提及|提到|找到|说明|說明|答案)|"
        r"(?:无法|無法|不能|不便|难以)\S{0,4}(?:回答|提供|帮|幫|告诉|告知|确定|確定|判断)|不知道|不清楚",
    ),
    "ja": (
        r"(?:情報|記載|記述|資料|データ|回答)\S{0,6}(?:ありません|ございません|見つかりません|含まれて(?:い)?ません)|"
        r"(?:お答え|回答|お手伝い|ご案内|提供|お伝え|判断)\S{0,4}(?:できません|できかねます|いたしかねます)|"
        r"(?:わかりません|分かりません|存じません)",
    ),
    "ko": (
        r"(?:정보|내용|자료|언급)\S{0,3} ?(?:없|찾을 수 없)|모르겠|"
        r"(?:답변|대답|도와|제공|확인|알려)\S{0,3} ?(?:할|드릴)? ?수 ?(?:는 )?없",
    ),
}
"""Somebody who answers says that he can't, or that what he has to go by doesn't say: "orders can't be cancelled" and
"we don't charge a fee" are answers."""
_REFUSES = re.compile("|".join(f"(?:{one})" for patterns in _PATTERNS.values() for one in patterns), re.IGNORECASE)
_BUT = re.compile(
    r"(?:,|;|\.|—|–)?\s+(?:but|however|that said|although|still|aber|jedoch|allerdings|mais|cependant|toutefois|pero|"
    r"sin embargo|ma|tuttavia|mas|porém|maar|echter|ale|jednak|но|однако|але)\b[,:]?\s+|"
    r"[，,。]?(?:但是?|不过|然而|ただし|しかし|하지만)",
    re.IGNORECASE,
)
_REFERS = re.compile(
    r"\b(?:please|contact|reach out|ask|see|visit|check|try|happy to|glad to|help (?:you )?with|let me know|would you|"
    r"recommend|suggest|bitte|wenden|kontaktieren|veuillez|contactez|contacter|por favor|p[óo]ngase|contacte|prego|"
    r"contatti|contacta|neem contact|proszę|пожалуйста|обратитесь)\b|请|請|ください|お問い合わせ|문의",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"\d")
_MOST_STATEMENTS = 2
"""Further statements that a refusal may make about what the sources do hold; more of them are an answer."""


def refusal(sample: Sample, *, expected: bool | None = None) -> Grade:
    """Whether the answer refuses where it must, and answers where it can; `expected` says so instead of the case.

    The label says which of the three it is. A partial refusal passes as neither. Where nobody says what is right, a
    refusal is a result and passes like an answer.
    """
    found = read_refusal(sample.answer)
    must = sample.must_refuse if expected is None else expected
    if must is None:
        must = found == "refused"
    if found == ("refused" if must else "answered"):
        return Grade(passed=True, label=found)
    if found == "partial":
        return Grade(passed=False, reason="says that it can't answer and answers all the same", label=found)
    said = "answers what it should refuse" if must else "refuses what it should answer"
    return Grade(passed=False, reason=said, label=found)


def read_refusal(answer: str) -> Refusal:
    """What an answer is. The refusal must come first but for courtesies; an empty answer is none.

    What follows may be a courtesy, a referral to somebody else, and up to two statements without a figure: "The
    documents only cover refunds." A figure, a "but" that states something, or more of it makes the refusal partial.
    """
    stated = refused_at = 0
    refused = invents = False
    for start, end in sentences(answer, language=guess(answer)):
        sentence = answer[start:end].strip()
        first, *rest = _BUT.split(sentence)
        if _REFUSES.search(first) is None:
            if _REFUSES.search(sentence) is None and _is_statement(sentence):
                stated += 1
                invents = (
                    invents or bool(_FIGURE.search(sentence)) or (refused and _BUT.match(f" {sentence}") is not None)
                )
            elif _REFUSES.search(sentence) is not None:
                stated += _is_statement(first)
                refused = True
            continue
        if not refused:
            refused, refused_at = True, stated
        if any(_is_statement(part) and not _REFUSES.search(part) for part in rest):
            invents = True
            stated += 1
    if not refused:
        return "answered"
    if refused_at or invents or stated > _MOST_STATEMENTS:
        return "partial"
    return "refused"


def _is_statement(text: str) -> bool:
    return kind_of(text.strip()) == "fact" and _REFERS.search(text) is None
