"""An instrument without a server: a page of its own, or a cell of a notebook that displays itself.

A `Picture` is an instrument and what it draws. Its page holds everything (code, numbers, colours of both themes) and
asks nothing of the network; a notebook shows it in a frame that takes the picture's height. What a click would tell
Python is told to nobody: hovering, walking, zooming and saving work as in the app.
"""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from core.analysis.lenses import lenses
from core.errors import InputError
from viz.instruments.mount import Instrument, page
from viz.instruments.payload import Packet
from viz.labels import head_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.run import Attention, Run

CROSSING = ("cross", "alignment")
"""Kinds of attention that look from what is written to a text that is read: there a row has the name of the word it writes."""


class Picture:
    """An instrument with what it draws; the last line of a notebook cell shows it.

    height: of the frame in a notebook until the picture has said its own, in pixels.
    name: what it shows, in words, for screen readers and where nothing can be drawn.

    Example:
        >>> from viz.instruments.words import WORDS, words_packet
        >>> Picture(WORDS, words_packet([[0.9, 0.1]], ["START"], ["a", "car"], targets=[("un", 0)]), name="one word")
        <Picture: one word>
    """

    def __init__(self, instrument: Instrument, packet: Packet, *, name: str = "attention", height: int = 480) -> None:
        self.instrument, self.packet, self.name, self.height = instrument, packet, name, height

    def html(self) -> str:
        """A whole page that works from a file, offline; no word of the data can become markup in it."""
        self.instrument.equip(self.packet)
        kit, code = self.instrument.kit, self.instrument.source
        code_parts = {self.packet.header["kit"], self.packet.header["code"]}
        data = base64.b64encode(self.packet.to_bytes(known=code_parts)).decode()
        before, rest = page().split("%%PACKET%%")
        between, after = rest.split("%%KIT%%%%CODE%%")
        return "".join([before, data, between, kit.decode(), code.decode(), after])

    def save(self, path: str | Path) -> Path:
        """Write the page to `path` and return it."""
        out = Path(path)
        out.write_text(self.html(), "utf-8")
        return out

    def _repr_html_(self) -> str:
        return (
            f'<div><iframe title="{escape(self.name)}" srcdoc="{escape(self.html())}" loading="lazy" '
            f'style="display:block;width:100%;height:{self.height}px;border:0"></iframe></div>'
        )

    def __repr__(self) -> str:
        return f"<Picture: {self.name}>"


# ---------------------------------------------------------------- pictures of a run


def words(run: Run, layer: int = 0, head: int = 0, kind: str | None = None) -> Picture:
    """One head over the words of the text, in large type; see `viz.words`."""
    from viz.instruments.words import WORDS, words_packet

    attention = seen(run, kind, "word")
    check(run, attention, layer, head)
    crossing, name = attention.kind in CROSSING, named(run, attention, head_name(layer, head))
    packet = words_packet(
        attention.weights[layer, head], attention.queries, attention.keys, allowed=attention.allowed[layer, head],
        layout="two" if crossing else "one", reading=not crossing, names=("reads", "writes") if crossing else ("", ""),
        targets=[(word, row) for row, word in enumerate(attention.queries) if word not in ("END", "PAD")],
        special=("START", "[CLS]", "[SEP]"), caption=name, python=lines(run, "words", layer=layer, head=head, kind=attention.kind),
    )  # fmt: skip
    return Picture(WORDS, packet, name=name, height=420)


def head_view(
    run: Run, layer: int = 0, heads: Sequence[int] | None = None, kind: str | None = None, by: str = "word"
) -> Picture:
    """The heads of one layer as lines between tokens; see `viz.head_view`."""
    from viz.instruments.head_view import HEAD_VIEW, head_view_packet

    attention = seen(run, kind, by)
    shown = list(range(attention.weights.shape[1])) if heads is None else [int(head) for head in heads]
    check(run, attention, layer, *shown)
    name = named(run, attention, f"layer {layer}" if len(shown) != 1 else head_name(layer, shown[0]))
    packet = head_view_packet(
        attention.weights[layer, shown], attention.queries, attention.keys, heads=shown, allowed=attention.allowed[layer, shown],
        reading=attention.kind not in CROSSING, axis=axis(attention), title=name, special=("START", "END", "PAD", "[CLS]", "[SEP]"),
        python=lines(run, "head_view", layer=layer, heads=None if heads is None else shown, kind=attention.kind, by=by),
    )  # fmt: skip
    return Picture(HEAD_VIEW, packet, name=name, height=620)


def heatmap(run: Run, layer: int = 0, head: int = 0, kind: str | None = None, by: str = "word") -> Picture:
    """One head as a grid of cells; see `viz.heatmap`."""
    from viz.instruments.heatmap import HEATMAP, heatmap_packet

    attention = seen(run, kind, by)
    check(run, attention, layer, head)
    name = named(run, attention, head_name(layer, head))
    scores, values = lenses(run, attention.kind, layer, head, by, writing=attention.kind in CROSSING)
    packet = heatmap_packet(
        attention.weights[layer, head], attention.queries, attention.keys, allowed=attention.allowed[layer, head],
        scores=scores, values=values, axis=axis(attention), title=name, numbers=len(attention.keys) <= 16,
        python=lines(run, "heatmap", layer=layer, head=head, kind=attention.kind, by=by),
    )  # fmt: skip
    return Picture(HEATMAP, packet, name=name, height=620)


def grid(run: Run, kind: str | None = None, by: str = "word") -> Picture:
    """All heads as thumbnails; see `viz.grid`."""
    from viz.instruments.grid import GRID, grid_packet

    attention = seen(run, kind, by)
    name = named(run, attention, "all heads")
    packet = grid_packet(
        attention.weights, allowed=attention.allowed[0, 0], title=name, python=lines(run, "grid", kind=attention.kind, by=by)
    )
    return Picture(GRID, packet, name=name, height=120 + 140 * attention.weights.shape[0])


def seen(run: Run, kind: str | None, by: str) -> Attention:
    """The patterns as the app shows them: where a text is written from another, rows are named by what they write."""
    chosen = kind or (run.kinds[-1] if run.kinds else None)
    return run.attention(chosen, by=by, writing=chosen in CROSSING)


def axis(attention: Attention) -> tuple[str, str]:
    """The names of rows and columns."""
    return ("written (query)", "source (key)") if attention.kind in CROSSING else ("query", "key")


def named(run: Run, attention: Attention, what: str) -> str:
    return f"{run.model.name}, {attention.kind} attention, {what}"


def check(run: Run, attention: Attention, layer: int, *heads: int) -> None:
    """Raises InputError for a layer or head that this run does not have; both count from 0."""
    n_layers, n_heads = attention.weights.shape[:2]
    for name, index, count in [("layer", layer, n_layers), *(("head", head, n_heads) for head in heads)]:
        if not 0 <= index < count:
            wrong = f"There is no {name} {index} in the {attention.kind} attention of {run.model.name}."
            raise InputError(wrong, f"It has {count}, counted from 0.", f"Choose 0 to {count - 1}.")


def lines(run: Run, picture: str, **arguments: object) -> str:
    """The lines of Python that make `viz.<picture>(run, ...)` again; an argument that is None is left out.

    A run does not remember its edits: add them to `model.run` if there were any.

    Example:
        >>> import core
        >>> run = core.open_model("gpt-mini").run("Once upon")                  # doctest: +SKIP
        >>> print(lines(run, "heatmap", layer=2, head=5))                       # doctest: +SKIP
        import core
        import viz
        <BLANKLINE>
        model = core.open_model('gpt-mini')
        run = model.run('Once upon')
        viz.heatmap(run, layer=2, head=5)
    """
    given = [repr(run.source.text if run.source else run.side.text)]
    if run.source is not None:
        given.append(f"target={run.target_text!r}")
    if run.side.pair is not None:
        given.append(f"pair={run.side.pair!r}")
    said = [f"{name}={value!r}" for name, value in arguments.items() if value is not None]
    return "\n".join([
        "import core", "import viz", "", f"model = core.open_model({run.model.name!r})", f"run = model.run({', '.join(given)})",
        f"viz.{picture}({', '.join(['run', *said])})",
    ])  # fmt: skip
