"""The app with other versions of its libraries: the newest release of each, or the oldest of all that pyproject allows.

    python -m tests.library_sets                  for each library its newest release, alone, beside the installed others
    python -m tests.library_sets altair plotly    only these
    python -m tests.library_sets --oldest         the lower bounds of all at once, torch apart

Each set is put into a folder of its own before the installed ones; nothing installed is changed. Then the app is started and a
visitor opens four pages. After an upgrade `requirements.lock` is made again:

    uv pip compile pyproject.toml --extra gguf --extra rooms --extra train --universal --python-version 3.11 --generate-hashes
        --no-emit-package torch (and triton, nvidia-*, cuda-*) --no-annotate -o requirements.lock
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from importlib import metadata
from pathlib import Path

from tests.app_server import ROOT, started_app

VISITED = {
    "": {"text": "The old man saw a red house."},
    "decode": {"model": "gpt-mini", "text": "Once upon a time"},
    "scaling": {},
    "masks": {},
    "lecture_room": {},
}
"""Pages that a visitor opens, with what stands in the link: Look, Decode, exhibits with charts of both libraries, a room."""


def bounds() -> dict[str, str]:
    """Return the libraries that pyproject asks for, with their lower bounds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = (re.match(r"([\w.-]+)>=([\d.]+)", line) for line in project["dependencies"])
    return {match[1]: match[2] for match in found if match}


def problem(folder: Path | None = None, cwd: Path = ROOT) -> str:
    """Start the app of a checkout with the libraries of a folder before the installed ones; return what went wrong, "" for nothing."""
    paths = [str(folder)] if folder else []
    variables = {"PYTHONPATH": os.pathsep.join([*paths, str(cwd), os.environ.get("PYTHONPATH", "")])}
    with tempfile.TemporaryDirectory() as place:
        try:
            # a Streamlit outside of site-packages takes itself for one that is being written
            with started_app(
                Path(place), "--global.developmentMode", "false", cwd=cwd, **variables
            ) as server:
                wrong = asyncio.run(_visit(server.url))
                return "; ".join(wrong)
        except AssertionError as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            return lines[-1] if lines else "it did not start"


async def _visit(url: str) -> list[str]:
    from tests.bench.wire import Visit

    wrong: list[str] = []
    visit = await Visit.opened(url)
    for page, values in VISITED.items():
        answer = await asyncio.wait_for(visit.ask(page, values), 180)
        wrong += [f"{page or 'look'}: {text}" for text in answer.wrong]
    await visit.close()
    return wrong


def install(folder: Path, *wanted: str) -> None:
    """Put these releases into a folder, without what they depend on."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--upgrade",
        "--target",
        str(folder),
    ]
    subprocess.run([*command, *wanted], check=True, stderr=subprocess.DEVNULL)


def version_in(folder: Path, name: str) -> str:
    """Return the version of a library that lies in a folder."""
    (found,) = metadata.distributions(name=name, path=[str(folder)])
    return found.version


def try_newest(names: list[str]) -> int:
    """Try the newest release of each library alone; print a line for each and return how many break the app."""
    broken = 0
    for name in names or [name for name in bounds() if name != "torch"]:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            install(folder, name)
            newest, here = version_in(folder, name), metadata.version(name)
            wrong = "" if newest == here else problem(folder)
        broken += bool(wrong)
        outcome = "is the newest" if newest == here else f"-> {newest}: {wrong or 'the app runs'}"
        print(f"{name:18} {here:12} {outcome}", flush=True)
    return broken


def try_oldest() -> str:
    """Try all lower bounds at once; return what went wrong, "" for nothing."""
    with tempfile.TemporaryDirectory() as place:
        install(Path(place), *(f"{name}=={least}" for name, least in bounds().items() if name != "torch"))
        return problem(Path(place))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="libraries of pyproject")
    parser.add_argument("--oldest", action="store_true", help="the lower bounds of all")
    options = parser.parse_args()
    if options.oldest:
        wrong = try_oldest()
        print(wrong or "the app runs with the lower bounds of all")
        sys.exit(bool(wrong))
    sys.exit(try_newest(options.names))


if __name__ == "__main__":
    main()
