"""Vocabulary: sets of words, written as running text."""

__all__ = ["words"]


def words(text: str) -> frozenset[str]:
    """The words of a text that are divided by blanks."""
    return frozenset(text.split())
