"""Every file that was not written here as text or code has a licence in one table, and each row of it has its files."""

from __future__ import annotations

import subprocess
import tomllib
from fnmatch import fnmatch

import pytest

from tests.app_server import ROOT

OURS = {
    ".py",
    ".md",
    ".toml",
    ".css",
    ".html",
    ".js",
    ".svg",
    ".txt",
    ".tsv",
    ".ipynb",
    ".conf",
    ".lock",
    ".cff",
    ".typed",
    ".po",
    ".mo",  # compiled from the .po beside it
    "",
}
"""Endings of what is written here; a script that somebody has packed is not."""
LONG = 3000
"""Characters of a line that nobody writes."""
MARKS = ("Copyright", "@license", "SPDX-License-Identifier")


def _tracked() -> list[str]:
    found = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode or not found.stdout:
        pytest.skip("not a checkout of git")
    return [name for name in found.stdout.splitlines() if (ROOT / name).is_file()]


def _of_others(name: str) -> bool:
    path = ROOT / name
    if path.suffix not in OURS:
        return True
    if path.suffix not in (".js", ".css", ".html"):
        return False
    text = path.read_text("utf-8")
    return any(mark in text for mark in MARKS) or max(map(len, text.splitlines()), default=0) > LONG


def test_every_vendored_file_has_a_licence_and_every_row_its_files():
    rows = tomllib.loads((ROOT / "assets" / "LICENSES.toml").read_text("utf-8"))["files"]
    names = _tracked()
    without = [
        name for name in names if _of_others(name) and not any(fnmatch(name, row["path"]) for row in rows)
    ]
    assert not without, f"no licence in assets/LICENSES.toml: {without}"
    for row in rows:
        assert any(fnmatch(name, row["path"]) for name in names), f"no file is called {row['path']}"
        assert (
            all(row[field].strip() for field in ("what", "licence", "owner"))
            and (ROOT / row["text"]).is_file()
        )
    texts = [name for name in names if "LICENSE-" in name.rpartition("/")[2]]
    assert {*texts} <= {row["text"] for row in rows}
