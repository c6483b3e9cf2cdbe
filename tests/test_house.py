"""The house: three folders, one namespace, public names that are true."""

import ast
import importlib
import importlib.util
import pkgutil
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("scorer", "connectors", "jobs")


def test_no_part_hides_the_others() -> None:
    for part in PARTS:
        assert not (ROOT / part / "groundwire" / "__init__.py").exists()
        assert (ROOT / part / "groundwire" / part / "py.typed").is_file()
    assert sorted(path.parts[-2] for path in ROOT.glob("*/groundwire/*/__init__.py")) == sorted(PARTS)


def test_the_three_folders_are_listed_alike_everywhere() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    tool = config["tool"]
    build = tool["hatch"]["build"]
    assert tuple(build["dev-mode-dirs"]) == PARTS
    assert tuple(build["targets"]["wheel"]["packages"]) == tuple(f"{part}/groundwire" for part in PARTS)
    assert tuple(tool["mypy"]["files"]) == (*PARTS, "tests")
    assert tuple(tool["mypy"]["mypy_path"].split(":")) == PARTS
    assert tuple(tool["ruff"]["src"]) == (*PARTS, "tests")
    assert tuple(tool["pyright"]["extraPaths"]) == PARTS
    contracts = tool["importlinter"]["contracts"]
    assert contracts[0]["layers"] == ["jobs", "connectors", "scorer"]


def modules() -> list[str]:
    found = []
    for part in PARTS:
        package = importlib.import_module(f"groundwire.{part}")
        walked = pkgutil.walk_packages(package.__path__, f"groundwire.{part}.")
        found += [f"groundwire.{part}", *(module.name for module in walked)]
    return [name for name in found if ".migrations" not in name]


@pytest.mark.parametrize("name", modules())
def test_public_names_are_sorted_and_there(name: str) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), f"{name} says nothing of what it holds"
    assigned = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets)
    ]
    if not assigned:
        assert spec.submodule_search_locations is not None, f"{name} has no __all__"
        return
    names = ast.literal_eval(assigned[0])
    assert len(names) == len(set(names))
    module = importlib.import_module(name)
    for one in names:
        assert hasattr(module, one), f"{name} promises {one}"


def test_only_settings_reads_the_environment() -> None:
    readers = {
        str(path.relative_to(ROOT))
        for part in PARTS
        for path in (ROOT / part).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv", "putenv")
    }
    assert sorted(readers) == ["jobs/groundwire/jobs/settings.py"]


def test_no_key_stands_in_a_cassette() -> None:
    for path in ROOT.glob("tests/**/cassettes/**/*.yaml"):
        text = path.read_text(encoding="utf-8")
        for secret in ("sk-lf-", "lsv2_pt_", "lsv2_sk_", "Bearer sk-"):
            assert secret not in text, f"{path.relative_to(ROOT)} holds {secret}…"
