"""What docs/phoenix.md says to type, on a real Phoenix."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.phoenix.server import Phoenix

pytestmark = pytest.mark.phoenix

ROOT = Path(__file__).parents[2]
BLOCK = re.search(
    r"^```console\n(.*?)^```$", (ROOT / "docs" / "phoenix.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
)
SCORED = {
    "7788d44e280e8ce6c87247def5330dcc": 1.0,
    "689ff8dad78cdbbb8ed38d16c49c0345": 0.67,
    "b19340d3929342953716576cc678061f": 0.33,
}


def steps() -> list[tuple[str, list[str]]]:
    """The commands of the page, each with the lines it shows."""
    assert BLOCK is not None
    found: list[tuple[str, list[str]]] = []
    for line in BLOCK[1].splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def test_the_page_can_be_followed(phoenix: Phoenix, project: str, tmp_path: Path) -> None:
    programs = {"python": [sys.executable], "groundwire": [sys.executable, "-m", "groundwire.jobs.cli"]}
    for _ in range(2):  # once more is nothing more
        for typed, shown in steps():
            words = shlex.split(typed.replace("http://localhost:6006 default", f"{phoenix.url} {project}"))
            words = [str(ROOT / word) if word.startswith("docs/") else word for word in words]
            force = ["--force"] if "init" in words else []
            done = subprocess.run(
                [*programs[words[0]], *words[1:], *force], cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{typed}: {done.stdout[-500:]}{done.stderr[-500:]}"
            if "init" in words:
                written = tmp_path / "groundwire.toml"
                mine = re.sub(r"^host .*$", f'host = "{phoenix.url}"', written.read_text("utf-8"), flags=re.MULTILINE)
                written.write_text(re.sub(r"^project .*$", f'project = "{project}"', mine, flags=re.MULTILINE), "utf-8")
            if not (tmp_path / "followed").exists():
                told = re.sub(r"backfill-\w+", "backfill-2cc5a5325b6d", done.stdout)
                for line in shown:
                    assert (
                        line.replace("http://localhost:6006, project default", f"{phoenix.url}, project {project}")
                        in told
                    )
        (tmp_path / "followed").touch()
    found = phoenix.annotations(project)
    assert {one["trace_id"]: round(one["result"]["score"], 2) for one in found} == SCORED
    assert len(found) == len(SCORED)
