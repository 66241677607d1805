"""Which versions of libraries the app runs with, and what it says of others."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata

import pytest

from tests import library_sets
from tests.app_server import ROOT
from viz.platform import versions

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_start_knows_the_bounds_of_pyproject():
    found = (re.match(r"([\w.-]+)>=([\d.]+),<([\d.]+)", line) for line in PROJECT["dependencies"])
    assert {match[1]: (match[2], match[3]) for match in found if match} == versions.TESTED


def test_every_library_has_a_lower_bound_and_a_locked_version_within_its_bounds():
    lock = dict(re.findall(r"(?m)^([\w.-]+)==([\w.]+)", (ROOT / "requirements.lock").read_text("utf-8")))
    names = {re.split(r"[<>=;\s]", line)[0] for line in PROJECT["dependencies"]}
    assert names == set(library_sets.bounds()) and names - {"torch"} <= set(lock)
    for name, least in library_sets.bounds().items():
        if name != "torch":
            assert versions.number(lock[name]) >= versions.number(least)
        if name in versions.TESTED and name in lock:
            assert versions.number(lock[name]) < versions.number(versions.TESTED[name][1])


def test_the_lock_has_a_hash_for_every_release_and_names_no_index():
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    releases = re.split(r"(?m)^(?=[\w.-]+==)", lock)[1:]
    assert len(releases) > 40 and all("--hash=sha256:" in release for release in releases)
    assert not re.search(r"https?://|--(extra-)?index", lock)


@pytest.mark.parametrize(
    ("version", "error", "said"),
    [
        (
            "1.65.0",
            None,
            "streamlit 1.65.0 is installed; Attention Atlas needs streamlit 1.67 or newer, below 1.68.",
        ),
        ("1.66.1", None, "needs streamlit 1.67 or newer"),
        ("1.68.0", ImportError("no name"), "streamlit 1.68.0 is installed"),
        ("1.68.0", AttributeError("no name"), 'pip install "streamlit>=1.67,<1.68"'),
        ("1.68.0", None, ""),
        ("1.67.3", None, ""),
    ],
)
def test_another_streamlit_is_named_in_a_sentence(monkeypatch, version, error, said):
    installed = metadata.version
    monkeypatch.setattr(
        versions.metadata, "version", lambda name: version if name == "streamlit" else installed(name)
    )
    ended = ""
    try:
        with versions.explain():
            if error:
                raise error
    except SystemExit as end:
        ended = str(end)
    assert bool(ended) == bool(said) and said in ended and "\n" not in ended


def test_an_error_of_our_own_is_not_blamed_on_a_version():
    with pytest.raises(ImportError), versions.explain():
        raise ImportError("viz.nothing")


@pytest.mark.slow
def test_the_app_runs_with_the_lower_bounds_of_all():
    assert library_sets.try_oldest() == ""


@pytest.mark.slow
def test_no_locked_release_has_a_known_vulnerability() -> None:
    """Ask the package index's database about every release of the lock; skipped where it cannot be reached."""
    pytest.importorskip("pip_audit", reason='pip install -e ".[audit]"')
    options = ["--disable-pip", "--require-hashes", "-r", "requirements.lock", "-f", "json"]
    command = [sys.executable, "-m", "pip_audit", *options]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    answered = {row["name"]: row["vulns"] for row in json.loads(run.stdout)["dependencies"] if "vulns" in row}
    if not answered:
        pytest.skip("the database of vulnerabilities cannot be reached")
    assert {name: holes for name, holes in answered.items() if holes} == {}
