"""The visible part: figures, instruments, pages. It imports `core`; `core` never imports this package.

In a notebook, without the app, the instruments display themselves:

    import core
    import viz

    run = core.open_model("translator-en-es").run("She has a white car.")
    viz.head_view(run, layer=2)

Attention of any other program, such as a Hugging Face model with output_attentions=True, is drawn too:

    viz.head_view(out.attentions, tokens, layer=2)
    viz.heatmap(out.cross_attentions, written_tokens, read_tokens, layer=0, head=3)
    viz.picture_view(pixels, out.attentions[3][0, 1], (14, 14), special=["class token"])

`kind` is one of `run.kinds` (None: the most telling one), `by` is "word" or "token", layers and heads count from 0.
Where a head may be a word, "mean", "largest" and "rollout" join the heads of each layer (`core.analysis.attention.aggregate`).
Each returns a `Picture`: the last line of a cell shows it (as an anywidget where that is installed, and then what is touched is
`picture.selected`, to be watched with `picture.observe(function, "selected")`), `.save("picture.html")` writes a page that works offline,
`.save("figure.svg")` (or .png, .pdf) a figure for a paper, and `.svg()` returns its text (both need Chromium and playwright).
A layer, a head or a kind that the run does not have is an InputError that says which there are.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viz.instruments.kit.notebook import (
        Picture,
        arithmetic,
        draw,
        grid,
        head_view,
        heatmap,
        picture_view,
        qkv,
        source,
        strip,
        whole_model,
        words,
    )

__all__ = [
    "Picture",
    "arithmetic",
    "draw",
    "grid",
    "head_view",
    "heatmap",
    "picture_view",
    "qkv",
    "source",
    "strip",
    "whole_model",
    "words",
]


def __getattr__(name: str) -> Any:
    """Return an instrument, imported at its first use: a program that imports another part of `viz` waits for none of them."""
    if name not in __all__:
        raise AttributeError(f"module 'viz' has no attribute {name!r}")
    home = import_module("viz.instruments.kit.notebook")
    return globals().setdefault(name, getattr(home, name))


def __dir__() -> list[str]:
    """Return the instruments, which a notebook completes."""
    return [*__all__]
