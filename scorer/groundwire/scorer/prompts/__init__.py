"""The judge's prompts: one file a question, one folder a language, and a digest that says which were in use."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Literal, get_args

from groundwire.scorer.errors import ConfigError

__all__ = ["PromptName", "Prompts", "languages", "load_prompts"]

PromptName = Literal["claims", "labels", "quotes", "faithfulness", "verdict", "spans", "facts", "repair", "probe"]


@dataclass(frozen=True, kw_only=True)
class Prompts:
    """The texts in use. They are static: everything of a trace goes into the message after them."""

    language: str
    texts: Mapping[PromptName, str]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all texts, 12 hexadecimal digits."""
        whole = hashlib.sha256()
        for name in sorted(self.texts):
            whole.update(f"{name}\0{self.texts[name]}\0".encode())
        return whole.hexdigest()[:12]

    def __getitem__(self, name: PromptName) -> str:
        return self.texts[name]


def languages() -> tuple[str, ...]:
    """The languages whose prompts come with groundwire."""
    folder = files(__name__)
    return tuple(sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("_")))


def load_prompts(language: str = "en", folder: Path | None = None) -> Prompts:
    """The prompts of a language; a file in `folder` replaces the one of its name.

    Raises `ConfigError` for a language that doesn't exist (unless the folder has every file), for a file of another
    name, and for one that can't be read as UTF-8.
    """
    names = get_args(PromptName)
    texts: dict[PromptName, str] = {}
    if language in languages():
        texts = {
            name: (files(__name__) / language / f"{name}.md").read_text(encoding="utf-8").strip() for name in names
        }
    if folder is not None:
        texts |= _replacements(folder, names)
    if missing := [name for name in names if name not in texts]:
        known = ", ".join(languages())
        if folder is None:
            raise ConfigError(f"language: there are no prompts in {language!r}; there are {known}, or set prompts_dir")
        raise ConfigError(f"prompts_dir: {folder} lacks {', '.join(f'{name}.md' for name in missing)} for {language!r}")
    if "{error}" not in texts["repair"]:
        raise ConfigError("prompts_dir: repair.md must hold {error}, where the reader's complaint goes")
    return Prompts(language=language, texts=texts)


def _replacements(folder: Path, names: tuple[PromptName, ...]) -> dict[PromptName, str]:
    if not folder.is_dir():
        raise ConfigError(f"prompts_dir: {folder} is not a folder")
    by_name: dict[str, PromptName] = {f"{name}.md": name for name in names}
    texts: dict[PromptName, str] = {}
    for path in sorted(folder.glob("*.md")):
        if path.name not in by_name:
            raise ConfigError(f"prompts_dir: {path.name} replaces nothing; the files are {', '.join(sorted(by_name))}")
        try:
            texts[by_name[path.name]] = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise ConfigError(f"prompts_dir: {path.name} can't be read as UTF-8 text") from None
    if not texts:
        raise ConfigError(f"prompts_dir: {folder} holds none of {', '.join(sorted(by_name))}")
    return texts
