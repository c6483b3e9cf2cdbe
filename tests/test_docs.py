"""The documentation is true: its pages are current, its code runs, its configurations load."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from groundwire.jobs.settings import load_settings

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ELSEWHERE = {"langfuse.md", "langsmith.md", "verify.md", "graders.md", "suites.md", "gate.md"}
"""Pages whose blocks are run by the tests of what they are about."""
KEYS = {
    "OPENAI_API_KEY": "made-up",
    "LANGFUSE_PUBLIC_KEY": "pk-lf-made-up",
    "LANGFUSE_SECRET_KEY": "made-up",
    "GEMINI_API_KEY": "made-up",
    "ANTHROPIC_API_KEY": "made-up",
    "AZURE_OPENAI_API_KEY": "made-up",
    "LANGSMITH_API_KEY": "made-up",
    "GROUNDWIRE_TOKEN": "made-up-made-up-made-up",
    "GROUNDWIRE_HOOK_SECRET": "made-up-made-up-made-up",
}


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        if page.name not in ELSEWHERE:
            code = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
            found += [(f"{page.name}-{number}", one) for number, one in enumerate(code, start=1)]
    return found


def test_the_configuration_page_is_current() -> None:
    spec = importlib.util.spec_from_file_location("make_configuration", ROOT / "docs" / "make_configuration.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "run: python docs/make_configuration.py"
    undocumented = re.findall(r"^\| `(\w+)` \|.*\|  \|$", module.page(), re.MULTILINE)
    assert undocumented == []


@pytest.mark.parametrize(("where", "code"), blocks("python"))
def test_python_blocks_run(where: str, code: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
    assert done.stdout


@pytest.mark.parametrize(("where", "text"), blocks("toml"))
def test_toml_blocks_load(where: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "groundwire.toml").write_text(text, encoding="utf-8")
    assert load_settings(tmp_path / "groundwire.toml", environment=KEYS).state.url


def test_commands_in_the_docs_exist() -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "groundwire.jobs.cli", "--help"], capture_output=True, text=True, check=True
    )
    known = set(re.findall(r"^  (\w+)  ", listed.stdout, re.MULTILINE))
    assert {"score", "run", "try", "backfill"} <= known
    for where, text in blocks("console"):
        for command in re.findall(r"^\$ groundwire (\w+)", text, re.MULTILINE):
            assert command in known, f"{where}: groundwire {command}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
