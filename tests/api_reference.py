"""The API reference of both packages, from their docstrings, and the exhibits as its gallery.

    python tests/api_reference.py OUT             # pages of core and viz, without a server
    python tests/api_reference.py OUT --gallery   # and a picture of every exhibit, from the running app: minutes

Open OUT/index.html. A warning of pdoc, and a public function or class without a docstring, are errors.
"""

from __future__ import annotations

import argparse
import html
import importlib
import inspect
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from app_server import ROOT, served_app

if TYPE_CHECKING:
    import pdoc

MODULES = ("core", "core.analysis", "core.decoding", "core.layers", "core.run", "core.trace", "viz")
SIZE = {"width": 1280, "height": 720}
CARD = '<a href="{slug}.png"><img src="{slug}.png" width="400" height="225" loading="lazy" alt=""><br>{title}</a><p>{claim}</p>'
STYLE = "body{font:16px sans-serif;margin:2rem;display:grid;grid-template-columns:repeat(auto-fill,minmax(400px,1fr));gap:1.5rem}h1,h2{grid-column:1/-1;margin:0}p{margin:.3rem 0}"


def undocumented(module: pdoc.doc.Module) -> Iterator[str]:
    """Yield the full names of the public functions and classes of a module that have no docstring, those of its submodules too."""
    for member in module.flattened_own_members:
        own = member.kind in ("function", "class") and not member.is_inherited
        if own and not member.name.startswith("_") and not inspect.getdoc(member.obj):
            yield member.fullname
    for part in module.submodules:
        yield from undocumented(part)


def write_reference(out: Path) -> None:
    """Write the pages of the reference. A warning is an error, and so is a docstring that is missing."""
    import pdoc

    import core

    pdoc.render.configure(
        docformat="google", show_source=False, footer_text=f"Attention Atlas {core.__version__}"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # the method that a NamedTuple makes has no module to look its names up in
        warnings.filterwarnings("ignore", r"Error parsing type annotation ForwardRef\(")
        pdoc.pdoc(*MODULES, output_directory=out)
    check_docstrings()


def check_docstrings() -> None:
    """Raise SystemExit where a docstring of the reference is missing."""
    import pdoc

    for each in MODULES:  # their names are imported when they are first asked for; pdoc wants them there
        inspect.getmembers(importlib.import_module(each))
    missing = [name for each in MODULES for name in undocumented(pdoc.doc.Module.from_name(each))]
    if missing:
        raise SystemExit(f"No docstring: {', '.join(missing)}")


def write_gallery(out: Path) -> None:
    """Write a picture of the first step of every exhibit, and gallery.html with all of them."""
    from chromium import CHROMIUM, CHROMIUM_FLAGS
    from playwright.sync_api import sync_playwright

    from viz.shell import pages

    cards: list[str] = []
    chapter = ""
    with (
        tempfile.TemporaryDirectory() as folder,
        served_app(Path(folder)) as address,
        sync_playwright() as run,
    ):
        browser = run.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        for entry in pages.exhibits():
            page = browser.new_page(viewport=SIZE, color_scheme="light", locale="en")
            page.set_default_timeout(120_000)
            page.goto(f"{address}/{entry.slug}")
            page.get_by_role("heading").first.wait_for()
            page.wait_for_function("!document.querySelector('[data-stale=true], [data-testid=stSkeleton]')")
            page.wait_for_timeout(1500)  # lines are drawn
            page.screenshot(path=out / f"{entry.slug}.png", animations="disabled")
            page.close()
            name = entry.info.chapter.value[0]
            cards += [f"<h2>{html.escape(name)}</h2>"] if name != chapter else []
            chapter = name
            cards.append(
                f"<div>{CARD.format(slug=entry.slug, title=html.escape(entry.info.title), claim=html.escape(entry.info.claim))}</div>"
            )
        browser.close()
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Exhibits of Attention Atlas</title><style>{STYLE}</style>'
    (out / "gallery.html").write_text(f"{head}<h1>The exhibits</h1>{''.join(cards)}</html>", "utf-8")


def main() -> None:
    """Write what the arguments ask for."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("out", type=Path, help="a folder, which is made")
    ask.add_argument("--gallery", action="store_true", help="also take a picture of every exhibit")
    options = ask.parse_args()
    sys.path.insert(0, str(ROOT))
    write_reference(options.out)
    if options.gallery:
        write_gallery(options.out)


if __name__ == "__main__":
    main()
