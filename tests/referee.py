"""Record what every step of the course and every page of the workspace shows, in files that are compared before and after a redesign.

    python -m tests.referee record FOLDER [PAGE ...]      one JSON file a page, step and state: before the guess, and after it
    python -m tests.referee compare BEFORE AFTER          what differs, field by field; ends with 1 where something does
    python -m tests.referee pictures FOLDER [PAGE ...]    each step in light, in dark, and in Present at 1280 x 720 and 1920 x 1080

A record has the words of the page, its equations, its questions, the table, the arrays of its archive (numbers with six digits), the
sentence that stands for each picture, and what its lines of Python print. Differences are judged by eye; none is forbidden.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from viz.shell import pages
from viz.widgets import exhibit_parts, page_parts, quiz

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "viz"), str(HERE / "browser")]
STATES = ("before", "after")
WINDOWS = {
    "light": (1280, 900, "light", ""),
    "dark": (1280, 900, "dark", ""),
    "present-1280": (1280, 720, "light", "&present=1"),
    "present-1920": (1920, 1080, "light", "&present=1"),
}


def steps(slugs: list[str]) -> list[tuple[pages.Entry, int]]:
    """Return all steps of these pages, or of all; a page without steps has one."""
    chosen = [entry for entry in pages.discover() if not slugs or entry.slug in slugs]
    return [
        (entry, step) for entry in chosen for step in range(1, max(1, len(getattr(entry, "steps", ()))) + 1)
    ]


def record(slug: str, step: int, state: str) -> dict[str, Any]:
    """Draw one step with its table, archive and equations, and return what it shows."""
    from exhibit_pages import drawn

    shown: dict[str, Any] = {"questions": [], "pictures": {}, "table": None, "arrays": {}, "code": ""}
    opened = {f"fold:{slug}.{name}": True for name in ("equation", "looking", "table", "take")}
    with _watched(shown, answered=state == "after"):
        test = drawn(slug, {f"{slug}.step": str(step)}, opened, guarded=True)
    words = [
        (kind, element) for kind in ("title", "markdown", "text", "caption") for element in test.get(kind)
    ]
    shown["words"] = [str(element.value) for _, element in words if "<svg" not in str(element.value)]
    shown["equations"] = [str(element.value) for element in test.latex]
    shown["errors"] = [str(error.value) for error in test.exception]
    shown["prints"] = _output(shown["code"])
    return shown


@contextlib.contextmanager
def _watched(shown: dict[str, Any], answered: bool) -> Iterator[None]:
    """Note what a page draws while this lasts; its questions are answered, or not."""
    show, table_fold, export_fold = page_parts.show, page_parts.table_fold, page_parts.export_fold

    def ask(key: str, question: str, *rest: Any, **more: Any) -> bool:
        shown["questions"].append([key, question])
        return answered

    def noted_show(figure: Any, key: str, alt: str, *rest: Any, **more: Any) -> None:
        shown["pictures"][key] = " ".join(alt.split())
        show(figure, key, alt, *rest, **more)

    def noted_table(frame: Any, key: str) -> None:
        shown["table"] = _plain(frame() if callable(frame) else frame)
        table_fold(frame, key)

    def noted_archive(data: Any, code: str, *rest: Any, **more: Any) -> None:
        shown["arrays"] = {
            name: _plain(value) for name, value in dict(data() if callable(data) else data).items()
        }
        shown["code"] = code
        export_fold(data, code, *rest, **more)

    with contextlib.ExitStack() as stack:
        for name in ("predict", "predict_number", "predict_share", "predict_mark"):
            for home in (exhibit_parts, quiz):
                stack.enter_context(patch.object(home, name, ask))
        for name, stand_in in (
            ("show", noted_show),
            ("table_fold", noted_table),
            ("export_fold", noted_archive),
        ):
            stack.enter_context(patch.object(page_parts, name, stand_in))
        yield


def _plain(value: Any) -> Any:
    """Return tables and arrays as lists, numbers with six digits."""
    if isinstance(value, pd.DataFrame):
        frame = value.reset_index() if value.index.name else value
        return {str(name): _plain(frame[name].to_numpy()) for name in frame}
    value = getattr(value, "values", value)
    array = np.asarray(value)
    if array.dtype.kind == "f":
        return np.vectorize(lambda number: float(f"{number:.6g}"), otypes=[float])(array).tolist()
    return array.tolist() if array.dtype.kind in "iub" else [str(item) for item in array.ravel()]


def _output(code: str) -> str:
    """Return what lines of Python print, or the error that ends them."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(code, {})
        except Exception as error:  # noqa: BLE001 - it is part of what is compared
            print(f"{type(error).__name__}: {error}")
    return printed.getvalue()


def compare(before: Path, after: Path) -> list[str]:
    """Return what differs between two folders of records, a line for each field of each file.

    >>> with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
    ...     _ = Path(one, "a.json").write_text('{"words": ["x"], "code": "1"}'), Path(two, "a.json").write_text('{"words": ["y"], "code": "1"}')
    ...     compare(Path(one), Path(two))
    ["a.json words: ['x'] -> ['y']"]
    """
    lines = []
    for name in sorted({path.name for folder in (before, after) for path in folder.glob("*.json")}):
        files = before / name, after / name
        if not all(path.is_file() for path in files):
            lines.append(f"{name}: only in {(before if files[0].is_file() else after).name}")
            continue
        old, new = (json.loads(path.read_text("utf-8")) for path in files)
        for part in [*dict.fromkeys([*old, *new])]:
            one, other = old.get(part), new.get(part)
            if isinstance(one, list) and isinstance(other, list):
                one, other = [x for x in one if x not in other], [x for x in other if x not in one]
            if one != other:
                lines.append(f"{name} {part}: {str(one)[:300]} -> {str(other)[:300]}")
    return lines


def pictures(folder: Path, slugs: list[str]) -> None:
    """Take a picture of every step in every window."""
    from chromium import CHROMIUM, CHROMIUM_FLAGS
    from playwright.sync_api import sync_playwright
    from settling import WIRE, settle

    from tests.app_server import started_app

    with (
        tempfile.TemporaryDirectory() as place,
        started_app(Path(place)) as server,
        sync_playwright() as play,
    ):
        browser = play.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        for look, (width, height, scheme, more) in WINDOWS.items():
            visit = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            visit.add_init_script(WIRE)
            page = visit.new_page()
            for entry, step in steps(slugs):
                page.goto(f"{server.url}/{entry.slug}?{entry.slug}.step={step}{more}")
                settle(page)
                page.screenshot(path=folder / f"{entry.slug}.{step}.{look}.png")
            visit.close()
        browser.close()


def main() -> int:
    """Run the command line."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("work", choices=("record", "compare", "pictures"))
    options.add_argument("folder", type=Path)
    options.add_argument("rest", nargs="*", help="pages, or the second folder to compare")
    given = options.parse_args()
    if given.work == "compare":
        lines = compare(given.folder, Path(given.rest[0]))
        print(*lines, f"{len(lines)} differences", sep="\n")
        return int(bool(lines))
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.work == "pictures":
        pictures(given.folder, given.rest)
        return 0
    for entry, step in steps(given.rest):
        for state in STATES:
            text = json.dumps(record(entry.slug, step, state), ensure_ascii=False, indent=1)
            (given.folder / f"{entry.slug}.{step}.{state}.json").write_text(text + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
