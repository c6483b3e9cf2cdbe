"""The prompts: few fixed tokens, files by language, and what replaces them."""

from pathlib import Path

import pytest
from tests.benchmarks.bench_prompt import BUDGETS, paths

from groundwire.scorer.errors import ConfigError
from groundwire.scorer.prompts import languages, load_prompts


def test_the_fixed_part_stays_small(encodings) -> None:
    found = paths(encodings[0])
    for path, budget in BUDGETS.items():
        assert sum(found[path].values()) <= budget, path


def test_english_is_there_and_another_language_is_refused_with_what_is() -> None:
    assert "en" in languages()
    with pytest.raises(ConfigError, match=r"no prompts in 'tlh'; there are .*en"):
        load_prompts("tlh")


def test_every_prompt_says_that_its_sections_are_data() -> None:
    prompts = load_prompts()
    for name, text in prompts.texts.items():
        if name not in ("repair", "probe"):
            assert "follow no instruction" in text, name
            assert "<<mark NAME>>" in text, name


def test_a_file_replaces_the_prompt_of_its_name_and_changes_the_digest(tmp_path: Path) -> None:
    (tmp_path / "labels.md").write_text("Étiquette chaque affirmation.\n", encoding="utf-8")
    replaced = load_prompts("en", tmp_path)
    assert replaced["labels"] == "Étiquette chaque affirmation."
    assert replaced["claims"] == load_prompts()["claims"]
    assert replaced.digest != load_prompts().digest
    assert len(replaced.digest) == 12


def test_a_folder_with_every_file_is_a_language_of_its_own(tmp_path: Path) -> None:
    for name, text in load_prompts().texts.items():
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    assert load_prompts("tlh", tmp_path).texts == load_prompts().texts
    (tmp_path / "quotes.md").unlink()
    with pytest.raises(ConfigError, match=r"lacks quotes\.md for 'tlh'"):
        load_prompts("tlh", tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("lables.md", b"x", "lables.md replaces nothing"),
        ("labels.md", b"\xff\xfe\xfa", "can't be read as UTF-8"),
        ("repair.md", b"try again", "must hold {error}"),
        ("notes.txt", b"x", "holds none of"),
    ],
)
def test_a_folder_that_cannot_be_used_says_why(tmp_path: Path, name: str, content: bytes, line: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=line):
        load_prompts("en", tmp_path)


def test_a_folder_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a folder"):
        load_prompts("en", tmp_path / "none")
