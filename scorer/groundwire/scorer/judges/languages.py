"""Which language a text is in, by its commonest words: enough to read its numbers and to know what can be compared."""

import re

__all__ = ["guess"]

_COMMON = {
    "en": "the of and to is was are has have your for with on at it that this from you be been will not there",
    "de": "der die das und ist sind hat haben wurde wird ein eine einen mit für auf von zu "
    "im am um nicht ihr ihre beträgt kostet den dem des noch uhr",
    "es": "el la los las de del y es son está ha han fue una un con para por en que su sus se no al cuesta hay",
    "fr": "le la les des du et est sont été une un avec pour par dans que votre vos au aux il elle ne pas coûte à",
    "it": "il lo gli della di che è sono per con una un del dei nel ha non costa alle",
    "pt": "o os as do da dos das é são foi para com uma um em no na seu sua não custa às",
    "nl": "de het een en is zijn van voor met op te niet uw dat heeft",
}
_SETS = {language: frozenset(words.split()) for language, words in _COMMON.items()}
_SCRIPTS = (
    ("ja", re.compile(r"[぀-ヿ]")),
    ("ko", re.compile(r"[가-힯]")),
    ("zh", re.compile(r"[㐀-鿿]")),
    ("ru", re.compile(r"[а-яё]", re.IGNORECASE)),
    ("ar", re.compile(r"[؀-ۿ]")),
    ("hi", re.compile(r"[ऀ-ॿ]")),
    ("el", re.compile(r"[α-ω]", re.IGNORECASE)),
)
_WORD = re.compile(r"[^\W\d_]+")


def guess(text: str, default: str = "en") -> str:
    """The language as a two-letter code; `default` where the text is too short or too mixed to tell."""
    sample = text[:4_000]
    letters = sum(map(str.isalpha, sample))
    for language, script in _SCRIPTS:
        if letters and len(script.findall(sample)) >= 0.2 * letters:
            return language
    found = [word.casefold() for word in _WORD.findall(sample)]
    counts = {language: sum(word in common for word in found) for language, common in _SETS.items()}
    best = max(counts, key=lambda language: counts[language])
    if counts[best] < 2 or counts[best] <= counts.get(default, 0):
        return default
    return best
