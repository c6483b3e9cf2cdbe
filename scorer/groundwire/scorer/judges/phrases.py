"""What kind of statement a sentence is, by its phrases: fact, self-reference, confirmation, next step, filler."""

import re

from groundwire.scorer.claims import ClaimKind

__all__ = ["INSTRUCTION", "kind_of"]


def _any(*patterns: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE | flags)


_OPENING = re.compile(
    r"^[\s*_>#\"'“”¡¿]*(?:(?:well|so|also|additionally|however|therefore|unfortunately|leider|lamentablemente)[, ]+)*"
    r"(?:[^\W\d][^:：.!?\n]{0,40}[:：][*_]*\s+(?=please\b|would you\b|could you\b|bitte\b|por favor\b|veuillez\b))?",
    re.IGNORECASE,
)

INSTRUCTION = _any(
    r"\[\s*/?\s*(?:begin|end)[ _](?:data|of)\b",
    r"^\W*(?:grade|rating|verdict|score)\W*[:=]\W*\S{1,12}\W*$",
    r"^\W*[\"']?score[\"']?\s*:\s*[\d.]+\W*(?:reason.*)?$",
    r"</?\s*(?:response|answer|system|evidence|context|document)\s*>",
    r"\b(?:ignore|disregard|forget)\b.{0,30}\b(?:above|previous|prior|earlier|all)\b",
    r"\b(?:rate|grade|mark|label|score)\b.{0,30}\b(?:as|with)\b.{0,20}\b(?:fully )?(?:supported|grounded|correct|"
    r"1\.0|10)\b",
    r"\{[a-z_]+(?:\.__\w+__)+\}|^\W*\{(?:question|answer|context)\}\W*$",
    flags=re.MULTILINE,
)
"""Text that speaks to a judge and not to the reader; it is no claim and binds nobody."""

_FILLER = _any(
    r"^(?:hi|hello|hey|greetings|good (?:morning|afternoon|evening|day)|dear)\b(?!.*\b(?:is|are|was|were|has|have)\b)",
    r"^(?:hallo|guten (?:tag|morgen|abend)|hola|buen[oa]s (?:d[ií]as|tardes|noches)|bonjour|bonsoir|salut|ciao|"
    r"buongiorno|ol[áa])\b",
    r"^(?:您好|你好|大家好|こんにちは)",
    r"^(?:safe travels|have (?:a|an) \w+|enjoy\b|take care|best (?:regards|wishes)|kind regards|sincerely|cheers|"
    r"congrat|talk to you)",
    r"^(?:gute reise|sch[öo]nen tag|viele gr[üu][ßs]+e|mit freundlichen|buen viaje|que tenga|saludos|bon voyage|"
    r"bonne journ[ée]e|cordialement)",
    r"^(?:i|we) (?:really |truly |sincerely |do )?(?:hope|apologi[sz]e|appreciate|empathi[sz]e|wish)\b",
    r"^(?:i['’]?m|i am|we['’]?re|we are) (?:\w+ ){0,2}(?:sorry|glad|happy|pleased|delighted)\b",
    r"^(?:sorry|my apologies|looking forward|glad to|happy to|great (?:question|news|choice)|good news)\b",
    r"^(?:es tut mir leid|lo siento|"
    r"je suis d[ée]sol[ée]|d[ée]sol[ée]|entschuldig|disculpe|祝您|祝你|抱歉|对不起|很抱歉)",
    r"^(?:i|we) (?:completely |fully |totally )?understand\b",
    r"^(?:here(?:['’]s| is| are)|below (?:is|are)|the (?:following|details)\b.*\b(?:are|is|as follows)|as "
    r"follows)\b[^.\d]*[:.]?$",
    r"^(?:hier (?:sind|ist)|aqu[íi] (?:est[áa]n?|tiene)|estos? (?:son|es)|"
    r"voici|以下是|这是|详情如下|如下)[^\d]*[:：.]?$",
    r"^the (?:following|requested) (?:actions?|changes?|updates?|steps?)\b.*\b(?:completed|made|done|taken)\W*$",
    r"^(?:i trust|rest assured|no worries|no problem|not a problem|step \d+\W*$)",
)
_CONFIRMATION = _any(
    r"^(?:sure|certainly|of course|absolutely|okay|ok|got it|understood|alright|all right|yes|no|right|perfect|"
    r"great|exactly|"
    r"definitely|indeed|noted|done)\W*$",
    r"^(?:sure|certainly|of course|absolutely|okay|ok|got it|alright|perfect|great)[,!. ]+(?:i|let|here|thank|"
    r"we)\b(?!.*\b(?:have|has)\b.*ed\b)",
    r"^(?:thank(?:s| you)|you(?:['’]re| are) (?:very |most )?welcome|my pleasure|it was my pleasure)",
    r"^(?:danke|vielen dank|gern(?:e)?(?: geschehen)?|nat[üu]rlich|selbstverst[äa]ndlich|ja|nein|gracias|de nada|"
    r"claro|por supuesto|"
    r"merci|de rien|bien s[ûu]r|d['’]accord|s[íi]|oui|non|好的|当然|谢谢|不客气|是的|没问题)[\s,.!。！，]*$",
    r"^(?:danke|vielen dank|gracias por|merci (?:de|pour)|谢谢|感谢您)",
)
_SELF = _any(
    r"^(?:as an?|being an?) (?:ai|assistant|language model|virtual|large)\b",
    r"^(?:i['’]?m|i am|my name is|this is) (?:an? |your |the )?(?:\w+ ){0,3}(?:ai|assistant|bot|agent|model|here)\b",
    r"^(?:i|we) (?:don['’]?t|do not) (?:have|know|see|find)\b",
    r"^(?:i|we) (?:was|were|am|are)? ?(?:unable|not able) to\b",
    r"\b(?:i|we)(?:['’]m| am|['’]re| are| was| were)? (?:also |currently |unfortunately |sorry,? "
    r"(?:but )?i )*(?:unable to|not able to|cannot|can['’]?t|"
    r"can not|couldn['’]?t|could not|won['’]?t be able|did(?:n['’]?t| not) find|(?:don['’]?t|do not) have (?:any "
    r"|enough )?(?:access|information))",
    r"^(?:ich (?:bin (?:ein|ihr|dein|hier)|kann (?:das|dazu|ihnen|dir|es|in den)|konnte|habe keine(?:n)? "
    r"(?:informationen|zugriff|angaben)))\b",
    r"^(?:(?:no (?:puedo|pude|encuentro|encontr[ée]|tengo))|soy (?:un|su|tu)|je (?:ne (?:peux|trouve|dispose)|"
    r"n['’]ai pas|suis (?:un|votre|l[àa])))\b",
    r"^(?:我(?:是|无法|不能|没有|找不到)|作为)",
    r"^(?:there is|there['’]s) no (?:information|mention|data)\b.*\b(?:documents?|context|sources?|records?)\b",
    r"^the (?:documents?|context|sources?|provided \w+) (?:do(?:es)? not|don['’]?t|doesn['’]?t) (?:mention|say|"
    r"contain|include|provide|specify)",
)
_NEXT_STEP = _any(
    r"[?？]\W*$",
    r"^(?:let me|let us|let['’]s|allow me|please|kindly|feel free|don['’]?t hesitate|do not hesitate|just let|"
    r"simply let|would you|could you|"
    r"can you|may i|shall i|should you|to (?:proceed|continue|assist|get started))\b",
    r"^(?:i|we)(?:['’]ll| will| can| could| shall| would| may|['’]m going to| am going to|['’]d)\b",
    r"^(?:i|we) (?:would |strongly |['’]d )?(?:recommend|suggest|advise|need)\b",
    r"^(?:if|should|whenever|once|when) (?:there(?:['’]s| is)|you|anything|i|we|everything)\b[^\d]*\b(?:let me "
    r"know|let us know|feel free|reach out|contact|"
    r"please|just ask|reply|here to|happy to|i can|i['’]ll|i will|recommend|we can|be all set)\b",
    r"^(?:otherwise,? )?if (?:everything|all) (?:else )?(?:seems|looks|is)\b[^\d]*$",
    r"^(?:you (?:can|may) (?:also |always )?(?:contact|reach|let|reply|ask|call))\b[^\d]*$",
    r"^(?:bitte|lassen sie|lass mich|ich (?:werde|pr[üu]fe|schaue|kann ihnen gern)|wenn sie (?:weitere |"
    r"noch )?(?:fragen|hilfe)|falls sie (?:weitere |noch )?(?:fragen|hilfe)|"
    r"gerne? (?:helfe|k[öo]nnen|kann)|m[öo]chten sie|zögern sie)\b",
    r"^(?:por favor|d[ée]jeme|perm[íi]tame|voy a|si (?:tiene|necesita|desea)|no dude|av[íi]seme|h[áa]game saber|"
    r"puedo ayudar)\b",
    r"^(?:veuillez|laissez-moi|je vais|si vous (?:avez|souhaitez|voulez)|n['’]h[ée]sitez|faites-moi savoir|"
    r"souhaitez-vous)\b",
    r"^(?:请|如果您(?:有|需要|还)|如有|如需|让我|我(?:会|将|来|可以))",
)
_REASON = _any(
    r"\b(?:due to|because|since|as (?:it|the|this|that|your|they|you)|given that|without|unless|until|based on|"
    r"per our|is set at)\b",
    r"\b(?:weil|da (?:es|die|der|das|sie)|aufgrund|wegen|porque|debido|ya que|car|parce que|en raison)\b|因为|由于",
)
_LOOKED = re.compile(
    r"(?:unable to|not able to|cannot|can['’]?t|can not|couldn['’]?t|could not|did(?:n['’]?t| not)) "
    r"(?:\w+ly )?(?:find|see|locate|access|answer|determine|verify|confirm|say|tell|help)\b|\bno (?:information|"
    r"mention|data)\b",
    re.IGNORECASE,
)
"""Not having found something is the search's outcome, whatever reason is given for it."""
_BUT = re.compile(r",?\s+(?:but|however,?|aber|jedoch|pero|mais)\s+(?:unfortunately,?\s+)?", re.IGNORECASE)
_ACTED = re.compile(
    r"\b(?:i|we)(?:['’]ve| have)?(?: \w+ly| just| now| already)? (?:\w+ed|sent|made|paid|put|set)\b|\b(?:has|"
    r"have) (?:now |just |already )?been\b",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"\d")


def kind_of(text: str) -> ClaimKind:
    """The kind of one sentence or list item. What no phrase gives away is a fact.

    A refusal that states its ground ("… because the fare is non-refundable") is a fact: the ground can be checked.
    """
    bare = _OPENING.sub("", text, count=1).strip().rstrip("*_ ")
    if not any(character.isalnum() for character in bare) or INSTRUCTION.search(bare):
        return "filler"
    if _NEXT_STEP.search(bare) and not (_ACTED.search(bare) and not bare.endswith(("?", "？"))):
        return "next_step"
    clauses = _BUT.split(bare, maxsplit=1)
    if len(clauses) > 1 and (_FILLER.search(clauses[0]) or _CONFIRMATION.search(clauses[0])):
        return kind_of(clauses[1])
    if _SELF.search(bare):
        return "fact" if _REASON.search(bare) and not _LOOKED.search(bare) else "self_reference"
    if _CONFIRMATION.search(bare):
        return "confirmation"
    if _FILLER.search(bare) and not (_ACTED.search(bare) and _FIGURE.search(bare)):
        return "filler"
    return "fact"
