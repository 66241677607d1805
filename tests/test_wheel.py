"""The wheel holds what the app needs, and starts it from any folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import urllib.request
import zipfile
from pathlib import Path

import pytest
from app_server import ROOT, started_app
from chromium import CHROMIUM

from core.checkpoints.manifest import read_manifest

pytestmark = pytest.mark.slow  # a wheel is built


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What is installed of the wheel, in a folder of its own; nothing is asked of a network."""
    pytest.importorskip("setuptools")
    place = tmp_path_factory.mktemp("wheel")
    for name in (
        "core",
        "viz",
        "assets",
        ".streamlit",
    ):  # a copy: what a build leaves behind is not left here
        shutil.copytree(ROOT / name, place / "source" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("app.py", "setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, place / "source")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-q",
        "-w",
        str(place),
        str(place / "source"),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = place.glob("attention_atlas-*.whl")
    with zipfile.ZipFile(wheel) as held:
        held.extractall(place / "installed")
    return place / "installed"


def test_it_holds_every_file_that_is_read(installed):
    there = {str(path.relative_to(installed)) for path in installed.rglob("*") if path.is_file()}
    tracked = subprocess.run(
        ["git", "ls-files", "core", "viz"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout.split()
    assert set(tracked) <= there
    assert {
        "attention_atlas/app.py",
        "attention_atlas/.streamlit/config.toml",
        "attention_atlas/assets/MANIFEST.toml",
    } <= there
    for folder in ("models", "runs", "texts"):
        names = [
            str(path.relative_to(ROOT)) for path in (ROOT / "assets" / folder).rglob("*") if path.is_file()
        ]
        assert names
        assert {f"attention_atlas/{name}" for name in names} <= there
    own = {name for name in there if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in own} == {"core", "viz", "attention_atlas"}, (
        "nothing else is put among the packages of others"
    )
    assert {
        name.rpartition("/")[2] for name in own if name.count("/") == 1 and name.startswith("attention_atlas")
    } == {"app.py", "setup.py"}


def test_it_says_how_to_start_it(installed):
    (scripts,) = installed.glob("attention_atlas-*.dist-info/entry_points.txt")
    assert "attention-atlas = viz.__main__:main" in scripts.read_text("utf-8")


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: install the system's package")
def test_one_command_from_any_folder_serves_the_first_screen(installed, tmp_path, chromium):
    """`python -m viz`, which is what `attention-atlas` calls, far from any checkout, in the look of the house."""
    with started_app(tmp_path, command=("viz",), cwd=tmp_path, PYTHONPATH=str(installed)) as server:
        url = server.url
        assert urllib.request.urlopen(f"{url}/_stcore/health").read() == b"ok"
        page = chromium.new_page()
        page.goto(url)
        page.wait_for_selector("[data-words] canvas", timeout=60_000)
        assert "blanco" in page.locator("[data-words]").first.get_attribute("data-words")
        look = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]["light"][
            "backgroundColor"
        ]
        red, green, blue = (int(look[at : at + 2], 16) for at in (1, 3, 5))
        assert (
            page.locator(".stApp").evaluate("it => getComputedStyle(it).backgroundColor")
            == f"rgb({red}, {green}, {blue})"
        )
        assert urllib.request.urlopen(f"{url}/app/static/inter.woff2").status == 200
        page.close()


def test_its_models_are_those_of_the_manifest(installed):
    code = "import core; from core.checkpoints import listing; print(core.__file__, *(entry.name for entry in listing() if entry.ok))"
    out = subprocess.run(
        [sys.executable, "-c", code],
        cwd=installed.parent,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    where, *names = out.stdout.split()
    assert Path(where).is_relative_to(installed)
    assert sorted(names) == sorted(read_manifest(ROOT / "assets" / "models"))
