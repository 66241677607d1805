"""An instrument without a server: a page of its own, or a cell of a notebook that displays itself.

A `Picture` is an instrument and what it draws. Its page holds everything (code, numbers, colours of both themes) and
asks nothing of the network; a notebook shows it in a frame that takes the picture's height. Clicks do not reach
Python; hovering, walking, zooming and saving work as in the app.
"""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import InputError
from core.run.external_attention import ExternalAttention
from viz.instruments.kit.component import Instrument, module, page
from viz.instruments.kit.figure import WIDTH, figure_file, latex_files
from viz.instruments.kit.origin import Origin
from viz.instruments.kit.payload import Packet
from viz.labels import head_name
from viz.languages import _, mark

if TYPE_CHECKING:
    from core.run import Attention, Run

EXACT_CELLS = 1_000_000
"""More numbers than these are rounded in a page or a notebook as they are in the app: they would be more than 5 MB of it."""
CROSSING = ("cross", "alignment")
"""Kinds of attention that look from what is written to a text that is read: there a row has the name of the word it writes."""

SUMMED = {
    "words": (mark("sentence"), mark("word (key)")),
    "sentences": (mark("document"), mark("sentence (key)")),
}
"""Kinds of attention whose query is a learned vector, with the names of rows and columns: a row sums up a sentence, or the document."""


SAVED_AS = {
    "html": frozenset[str](),
    "htm": frozenset[str](),
    "mjs": frozenset[str](),
    "json": frozenset[str](),
    "svg": frozenset({"width", "dark"}),
    "pdf": frozenset({"width", "dark"}),
    "png": frozenset({"width", "dark", "scale"}),
    "tex": frozenset({"width", "dark"}),
}
"""Endings of a file, and which options of `Picture.save` each has."""


class Picture:
    """An instrument with what it draws; the last line of a notebook cell shows it.

    height: of the frame in a notebook until the picture has said its own, in pixels.
    name: what it shows, in words, for screen readers and where nothing can be drawn. origin: whose numbers it shows.

    Example:
        >>> from viz.instruments.words.words import WORDS, words_packet
        >>> Picture(WORDS, words_packet([[0.9, 0.1]], ["START"], ["a", "car"], targets=[("un", 0)]), name="one word")
        <Picture: one word>
    """

    def __init__(
        self,
        instrument: Instrument,
        packet: Packet,
        *,
        name: str = "attention",
        height: int = 480,
        origin: Origin | None = None,
    ) -> None:
        self.instrument, self.packet, self.name, self.height = instrument, packet, name, height
        if origin:
            origin.stamp(packet)

    def html(self) -> str:
        """Return a whole page that works from a file, offline; no word of the data can become markup in it."""
        packet = self.packet.with_exact_numbers(EXACT_CELLS)
        self.instrument.equip(packet)
        kit, code = self.instrument.kit, self.instrument.source
        code_parts = {packet.header["kit"], packet.header["code"]}
        data = base64.b64encode(packet.to_bytes(cached=code_parts)).decode()
        before, rest = page().split("%%PACKET%%")
        between, after = rest.split("%%KIT%%%%CODE%%")
        return "".join([before, data, between, kit.decode(), code.decode(), after])

    def packet_bytes(self) -> bytes:
        """Return all that draws the picture outside the app, code and numbers, as the module of `component.module` reads it."""
        packet = self.packet.with_exact_numbers(EXACT_CELLS)
        header = packet.header | {"url": None, "exact": True}
        at, say = header.get("at"), header.get("say")
        if say and at and len(at) == 2 and all(isinstance(place, int) for place in at):
            header["say"] = {
                name: words.replace(_("this head"), head_name(*at)) for name, words in say.items()
            }
        packet = replace(packet, header=header, parts=dict(packet.parts), deflated=set(packet.deflated))
        self.instrument.equip(packet)
        return packet.to_bytes()

    def svg(self, *, width: float = WIDTH, dark: bool = False) -> str:
        """Return the picture as SVG, the text that the page's own button Save makes: `width` pixels wide, on dark paper if `dark`.

        It needs Chromium and playwright (`pip install playwright`). Raises InputError naming what is missing.
        """
        return figure_file(self.html(), "svg", width=width, dark=dark).decode()

    def save(
        self,
        path: str | Path,
        *,
        width: float | None = None,
        dark: bool | None = None,
        scale: float | None = None,
    ) -> Path:
        """Write the picture to `path` and return it; its ending says as what.

        .html is a page that works offline. .svg, .png and .pdf are what the page's own button Save makes, and need Chromium and playwright.
        .mjs is an ES module that draws the picture in a page without a kernel (MyST, Observable); .json is its packet alone, for a module of the same kind.
        .tex is a figure for LaTeX, with the graphic as .pdf and the references as .bib beside it.

        width: of the figure in pixels of the page, 1100 unless given. dark: on dark paper. scale: pixels of a PNG for one of the page, 2 unless given.
        """
        out = Path(path)
        if out.is_dir():
            raise InputError(
                f"'{out}' is a folder.",
                "A picture is saved as a file.",
                f"Name one in it, such as '{out / 'picture.html'}'.",
            )
        kind = out.suffix.lower().removeprefix(".")
        if kind not in SAVED_AS:
            raise InputError(
                f"'{out.name}' does not end in .html, .svg, .png, .pdf, .tex, .mjs or .json.",
                "The ending says what is saved.",
                f"Save it as '{out.with_suffix('.html').name}' or '{out.with_suffix('.svg').name}'.",
            )
        if not out.parent.is_dir():
            raise InputError(
                f"There is no folder '{out.parent}'.",
                "A picture is saved into a folder that exists.",
                "Make the folder, or choose another one.",
            )
        options = {"width": width, "dark": dark, "scale": scale}
        given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        if unused := given.keys() - SAVED_AS[kind]:
            raise InputError(
                f"{' and '.join(sorted(unused))} cannot be chosen for '{out.name}'.",
                "width and dark are for .svg, .png, .pdf and .tex, scale is for .png; a page takes them from its reader's browser.",
                "Leave it out, or save the picture as .png.",
            )
        if kind == "tex":
            for ending, data in latex_files(self.html(), out.stem, **given).items():
                out.with_suffix(f".{ending}").write_bytes(data)
            return out
        out.write_bytes(
            figure_file(self.html(), kind, **given) if SAVED_AS[kind] else self._text(kind).encode()
        )
        return out

    def _text(self, kind: str) -> str:
        """Return the picture as the text of a page, of a module, or of a packet file."""
        if kind not in ("mjs", "json"):
            return self.html()
        contents = {"caption": self.name, "packet": base64.b64encode(self.packet_bytes()).decode()}
        return module(contents) if kind == "mjs" else json.dumps(contents)

    def _repr_html_(self) -> str:
        return (
            f'<div><iframe title="{escape(self.name)}" srcdoc="{escape(self.html())}" loading="lazy" '
            f'style="display:block;width:100%;height:{self.height}px;border:0"></iframe></div>'
        )

    def __repr__(self) -> str:
        return f"<Picture: {self.name}>"


def shown_attention(run: Run, kind: str | None, by: str) -> Attention:
    """Return the patterns as the app shows them: where a text is written from another, rows are named by what they write."""
    chosen = kind or (run.kinds[-1] if run.kinds else None)
    return run.attention(chosen, by=by, writing=chosen in CROSSING)


def axis(attention: Attention) -> tuple[str, str]:
    """Return the names of rows and columns."""
    if attention.kind in SUMMED:
        rows, columns = SUMMED[attention.kind]
        return _(rows), _(columns)
    return (_("written (query)"), _("source (key)")) if attention.kind in CROSSING else (_("query"), _("key"))


def picture_name(run: Run, attention: Attention, caption: str) -> str:
    return f"{run.model.name}, {attention.kind} attention, {caption}"


def counted(run: Run, attention: Attention, layer: int, *heads: int) -> list[int]:
    """Return layer and heads counted from 0; negative ones count from the end. Raises InputError for those that this run does not have."""
    n_layers, n_heads = attention.weights.shape[:2]
    places = [("layer", layer, n_layers), *(("head", head, n_heads) for head in heads)]
    for name, index, count in places:
        if not _counts(index, count):
            wrong = f"There is no {name} {index} in the {attention.kind} attention of {run.model.name}."
            raise InputError(wrong, f"It has {count}, counted from 0.", f"Choose 0 to {count - 1}.")
    return [index % count for _, index, count in places]


def _counts(index: object, count: int) -> bool:
    """Return whether a value counts one of `count` things, from 0 or from the end."""
    return isinstance(index, int | np.integer) and bool(-count <= index < count)


def position(noun: str, index: int, count: int) -> int:
    """Return an index counted from 0; a negative one counts from the end. Raises InputError for one that does not exist."""
    if not _counts(index, count):
        raise InputError(
            f"There is no {noun} {index}.",
            f"The run has {count}, counted from 0.",
            f"Choose 0 to {count - 1}.",
        )
    return index % count


def lines(run: Run, picture: str, **arguments: object) -> str:
    """Return a script that makes `viz.<picture>(run, ...)` again; an argument that is None is left out.

    As a file it writes the picture as a page beside it; in a notebook its last line shows it, too.
    A run does not remember its edits: add them to `model.run` if there were any. Of patterns that another program computed
    there is no script: nothing here can compute them again.

    Example:
        >>> import core
        >>> run = core.open_model("gpt-mini").run("Once upon")                  # doctest: +SKIP
        >>> print(lines(run, "heatmap", layer=2, head=5))                       # doctest: +SKIP
        import core
        import viz
        <BLANKLINE>
        model = core.open_model('gpt-mini')
        run = model.run('Once upon')
        picture = viz.heatmap(run, layer=2, head=5)
        picture.save('heatmap.html')
        picture
    """
    if isinstance(run, ExternalAttention):
        return ""
    given = [repr(run.source.text if run.source else run.side.text)]
    if run.source is not None:
        given.append(f"target={run.target_text!r}")
    if run.side.pair is not None:
        given.append(f"pair={run.side.pair!r}")
    said = [f"{name}={value!r}" for name, value in arguments.items() if value is not None]
    return "\n".join(
        [
            "import core",
            "import viz",
            "",
            f"model = core.open_model({run.model.name!r})",
            f"run = model.run({', '.join(given)})",
            ending(picture, f"{picture}({', '.join(['run', *said])})"),
        ]
    )


def ending(name: str, call: str) -> str:
    """Return the last lines of a script: they write the picture of `viz.<call>` as a page, and a notebook shows it.

    Example:
        >>> print(ending("heatmap", "heatmap(run)"))
        picture = viz.heatmap(run)
        picture.save('heatmap.html')
        picture
    """
    return "\n".join([f"picture = viz.{call}", f"picture.save({f'{name}.html'!r})", "picture"])


def drawing(name: str, arguments: str, source: Origin) -> str:
    """Return the last lines of a script that draws its numbers, `arguments`, with the instrument `name`; `source` is their origin.

    Example:
        >>> print(drawing("marked", "words, above=chances", Origin("Answers", "gpt-mini")).splitlines()[3])
        picture = viz.draw('marked', words, above=chances, whose={'page': 'Answers', 'model': 'gpt-mini'})
    """
    return "\nimport viz\n\n" + ending(name, f"draw({name!r}, {arguments}, whose={source.fields()!r})")
