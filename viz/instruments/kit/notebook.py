"""The instruments on a run, each a `Picture`: what `viz.heatmap(run)` and its sisters make in a notebook.

Those that need patterns alone draw attention of any other program, too: `viz.head_view(out.attentions, tokens)`.
"""

from __future__ import annotations

from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any

from core.analysis.arithmetic.cell import cell_arithmetic
from core.analysis.arithmetic.source import source_lines, tensor_card
from core.analysis.attention.aggregate import aggregate_heads
from core.analysis.attention.lenses import scores_and_norms
from core.errors import InputError
from core.run.external_attention import ExternalAttention
from viz.instruments.arithmetic.arithmetic import ARITHMETIC, Arithmetic
from viz.instruments.grid.grid import GRID, AllHeads
from viz.instruments.head_view.head_view import HEAD_VIEW, HeadView
from viz.instruments.heatmap.heatmap import HEATMAP, Heatmap
from viz.instruments.kit.component import Instrument
from viz.instruments.kit.origin import Origin, run_origin
from viz.instruments.kit.picture import (
    CROSSING,
    SUMMED,
    axis,
    counted,
    lines,
    picture_name,
    position,
    shown_attention,
)
from viz.instruments.kit.picture import position as index_of
from viz.instruments.kit.spec import Spec
from viz.instruments.kit.widget import Picture
from viz.instruments.picture.patches import on_patches
from viz.instruments.picture.picture import PICTURE, PictureView
from viz.instruments.qkv.of_run import sequence_of
from viz.instruments.qkv.qkv import QKV
from viz.instruments.source.source import SOURCE, Source
from viz.instruments.strip.strip import STRIP, Strip
from viz.instruments.whole_model.of_run import candidates, screen_of
from viz.instruments.whole_model.whole_model import WHOLE_MODEL, WholeModel
from viz.instruments.words.words import READING, SUMMING, WORDS, WRITING, Words
from viz.labels import head_name, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.run import Attention, Run
    from viz.instruments.kit.payload import Packet


OF_OTHERS = "Patterns of another program: viz.{0}(attentions, tokens, keys=None, ..., name=, row=, mask=); row is the text of a batch, 0 unless given, mask its attention_mask: padding is left out."


def _headed(
    run: Run, kind: str | None, by: str, layer: int, head: int | str
) -> tuple[Attention, int, int | str, int, str]:
    """Return the patterns, layer and head counted from 0, the index of the head in them, and a caption.

    "mean", "largest" or "rollout" instead of a number: the heads of each layer joined (`core.analysis.attention.aggregate.aggregate_heads`).
    Raises InputError for a layer or head that the run does not have, and for another word.
    """
    attention = shown_attention(run, kind, by)
    if isinstance(head, str):
        attention = aggregate_heads(run, attention.kind, head, by, writing=attention.kind in CROSSING)
    layer, index = counted(run, attention, layer, 0 if isinstance(head, str) else head)
    if isinstance(head, str):
        return attention, layer, head, 0, f"{head} of layer {layer}"
    return attention, layer, index, index, head_name(layer, index)


def _run_picture(
    instrument: Instrument,
    spec: Spec,
    run: Run,
    attention: Attention,
    caption: str,
    height: int,
    layer: int | None = None,
    head: int | str | None = None,
) -> Picture:
    """Return a page's view of a run as a picture that names the origin of its numbers."""
    return Picture(
        instrument,
        spec.packet(),
        name=picture_name(run, attention, caption),
        height=height,
        origin=run_origin(run, attention.kind, layer, head),
    )


def _of_any(draw: Callable[..., Picture]) -> Callable[..., Picture]:
    """Let a picture take `attentions, tokens, keys=None` in place of `run`, with `name=`, `row=` and `mask=` as in `core.run.external_attention.ExternalAttention`."""

    @wraps(draw)
    def draw_any(
        run: Any,
        *arguments: Any,
        keys: Sequence[str] | None = None,
        name: str = "attention",
        row: int = 0,
        mask: Any = None,
        **options: Any,
    ) -> Picture:
        if hasattr(run, "attention"):
            return draw(run, *arguments, **options)
        if not arguments and "tokens" not in options:
            wrong, rule = "There are no tokens.", "Patterns alone do not say what their rows and columns are."
            raise InputError(wrong, rule, f"Call viz.{draw.__name__}(attentions, tokens).")
        tokens, *others = [options.pop("tokens"), *arguments] if "tokens" in options else arguments
        if others and not isinstance(others[0], int | str):
            keys, *others = others
        return draw(ExternalAttention(run, tokens, keys, name=name, row=row, mask=mask), *others, **options)

    draw_any.__doc__ = f"{draw.__doc__}\n\n    {OF_OTHERS.format(draw.__name__)}"
    return draw_any


@_of_any
def words(run: Run, layer: int = 0, head: int = 0, kind: str | None = None) -> Picture:
    """Draw the text in large type: touch a word and see where one head attends, with a sentence that says so."""
    attention = shown_attention(run, kind, "word")
    layer, head = counted(run, attention, layer, head)
    crossing, what = attention.kind in CROSSING, head_name(layer, head)
    spec = Words(
        attention.weights[layer, head],
        attention.queries,
        attention.keys,
        allowed=attention.allowed[layer, head],
        layout="two" if crossing or attention.kind in SUMMED else "one",
        say=SUMMING if attention.kind in SUMMED else None,
        reading=not crossing,
        names=("reads", "writes") if crossing else ("", ""),
        targets=[(attention.queries[row], row) for row in attention.rows],
        special=attention.special_positions,
        caption=what,
        python=lines(run, "words", layer=layer, head=head, kind=attention.kind),
    )
    return _run_picture(WORDS, spec, run, attention, what, 420, layer, head)


@_of_any
def head_view(
    run: Run,
    layer: int = 0,
    heads: Sequence[int] | str | None = None,
    kind: str | None = None,
    by: str = "word",
) -> Picture:
    """Draw lines from each token to the tokens that it attends to: all heads of a layer, or those named in `heads`."""
    attention, layer, _, _, what = _headed(run, kind, by, layer, heads if isinstance(heads, str) else 0)
    if isinstance(heads, str):
        shown, called, given = [0], [heads], heads
    else:
        chosen = range(attention.weights.shape[1]) if heads is None else [int(head) for head in heads]
        layer, *shown = counted(run, attention, layer, *chosen)
        what = f"layer {layer}" if len(shown) != 1 else head_name(layer, shown[0])
        called, given = shown, None if heads is None else shown
    spec = HeadView(
        attention.weights[layer, shown],
        attention.queries,
        attention.keys,
        heads=called,
        allowed=attention.allowed[layer, shown],
        reading=attention.kind not in CROSSING,
        axis=axis(attention),
        title=what,
        special=attention.special_positions,
        python=lines(run, "head_view", layer=layer, heads=given, kind=attention.kind, by=by),
    )
    return _run_picture(
        HEAD_VIEW, spec, run, attention, what, 620, layer, heads if isinstance(heads, str) else None
    )


@_of_any
def heatmap(
    run: Run, layer: int = 0, head: int | str = 0, kind: str | None = None, by: str = "word"
) -> Picture:
    """Draw one head as a grid of cells, query rows and key columns, with the exact values under the pointer.

    By token it has further lenses: the scores before the softmax, and the weights times the size of the values.
    """
    attention, layer, head, index, what = _headed(run, kind, by, layer, head)
    scores, values = (
        (None, None)
        if isinstance(head, str)
        else scores_and_norms(run, attention.kind, layer, head, by, writing=attention.kind in CROSSING)
    )
    spec = Heatmap(
        attention.weights[layer, index],
        attention.queries,
        attention.keys,
        allowed=attention.allowed[layer, index],
        scores=scores,
        values=values,
        axis=axis(attention),
        title=what,
        numbers=len(attention.keys) <= 16,
        python=lines(run, "heatmap", layer=layer, head=head, kind=attention.kind, by=by),
    )
    return _run_picture(HEATMAP, spec, run, attention, what, 620, layer, head)


@_of_any
def grid(run: Run, kind: str | None = None, by: str = "word") -> Picture:
    """Draw every layer and head of the run as a thumbnail."""
    attention = shown_attention(run, kind, by)
    what = "all heads"
    spec = AllHeads(
        attention.weights,
        allowed=attention.allowed[0, 0],
        title=what,
        python=lines(run, "grid", kind=attention.kind, by=by),
        queries=attention.queries,
        keys=attention.keys,
    )
    return _run_picture(GRID, spec, run, attention, what, 120 + 140 * attention.weights.shape[0])


@_of_any
def strip(
    run: Run, layer: int = 0, head: int | str = 0, kind: str | None = None, by: str = "word"
) -> Picture:
    """Draw the running text, each word shaded by the attention that a touched one gives it, or receives from it; if chosen, one line per word."""
    attention, layer, head, index, what = _headed(run, kind, by, layer, head)
    crossing, summed = attention.kind in CROSSING, attention.kind in SUMMED
    spec = Strip(
        attention.weights[layer, index],
        [*map(visible, attention.queries)],
        keys=[*map(visible, attention.keys)] if crossing or summed else None,
        allowed=attention.allowed[layer, index],
        special=attention.special_positions,
        say=SUMMING if summed else WRITING if crossing else READING,
        names=("reads", "writes") if crossing else ("", ""),
        title=what,
        python=lines(run, "strip", layer=layer, head=head, kind=attention.kind, by=by),
    )
    return _run_picture(STRIP, spec, run, attention, what, 320, layer, head)


def _run(draw: Callable[..., Picture]) -> Callable[..., Picture]:
    """Make a picture refuse, with an explanation, an argument that is no run."""

    @wraps(draw)
    def draw_run(run: Any, *arguments: Any, **options: Any) -> Picture:
        if not hasattr(run, "kinds") or isinstance(run, ExternalAttention):
            wrong = f"viz.{draw.__name__} is given {type(run).__name__}, not a run."
            rule = "It shows the tensors behind a pattern, which only a run of a model has."
            raise InputError(
                wrong, rule, "Give core.open_model(name).run(text), or core.wrap(model, tokenizer).run(text)."
            )
        return draw(run, *arguments, **options)

    return draw_run


@_run
def arithmetic(
    run: Run, layer: int = 0, head: int = 0, query: int = -1, key: int | None = None, kind: str | None = None
) -> Picture:
    """Show how one weight is computed from the tensors of this run, line by line, and its effect.

    query and key are positions of tokens; without a key it is the one that this query looks at most.
    """
    attention = shown_attention(run, kind, "token")
    layer, head = counted(run, attention, layer, head)
    row = position("query", query, len(attention.queries))
    column = (
        int(attention.weights[layer, head, row].argmax())
        if key is None
        else position("key", key, len(attention.keys))
    )
    python = lines(run, "arithmetic", layer=layer, head=head, query=row, key=column, kind=attention.kind)
    spec = Arithmetic(cell_arithmetic(run, attention.kind, layer, head, row, column), python=python)
    return _run_picture(
        ARITHMETIC, spec, run, attention, f"{head_name(layer, head)}, one weight", 700, layer, head
    )


@_run
def qkv(run: Run, layer: int = 0, head: int = 0, query: int = -1, kind: str | None = None) -> Picture:
    """Draw one row of attention in five scenes: word; query, key and value; score; softmax; mixture. `query` is a token's index."""
    attention = shown_attention(run, kind, "token")
    layer, head = counted(run, attention, layer, head)
    row = position("query", query, len(attention.queries))
    spec = sequence_of(run, attention.kind, layer, head, row)
    return _run_picture(QKV, spec, run, attention, f"{head_name(layer, head)}, one row", 560, layer, head)


@_run
def source(run: Run, layer: int = 0, kind: str | None = None, path: str | None = None) -> Picture:
    """Show the lines of code that computed the attention of a layer, beside the numbers of one tensor (`path`; first the pattern)."""
    attention = shown_attention(run, kind, "token")
    (layer,) = counted(run, attention, layer)
    code = source_lines(run, attention.kind, layer)
    given = path or next(line.path for line in code if line.path and line.leaf == "pattern")
    python = lines(run, "source", layer=layer, kind=attention.kind, path=path)
    spec = Source(code, selected=given, card=tensor_card(run, given), title=given, python=python)
    return _run_picture(SOURCE, spec, run, attention, "its code", 560, layer)


@_run
def whole_model(run: Run, position: int = -1) -> Picture:
    """Draw all blocks of a Transformer, from its tokens to the probabilities of what follows the token at `position`."""
    screen = screen_of(run)
    row = index_of("position", position, screen.tokens)
    logits, names = candidates(run, screen.starts[-1] + row)
    python = lines(run, "whole_model", position=row)
    spec = WholeModel(screen.stacks, logits=logits, names=names, position=row, python=python)
    name = f"{run.model.name}, the whole model"
    return Picture(WHOLE_MODEL, spec.packet(), name=name, height=640, origin=run_origin(run))


def picture_view(
    run: Any,
    weights: Any = None,
    cells: tuple[int, int] | None = None,
    *,
    layer: int = 0,
    head: int = 0,
    kind: str | None = None,
    **options: Any,
) -> Picture:
    """Draw one head on the picture that a run read; or any picture (pixels), weights over its cells, (rows, columns); options as of `PictureView`."""
    if not hasattr(run, "attention"):
        spec = PictureView(run, weights, cells or (1, 1), **options)
        return Picture(PICTURE, spec.packet(), name=spec.title or "attention on a picture", height=620)
    attention = shown_attention(run, kind, "token")
    layer, head = counted(run, attention, layer, head)
    what = head_name(layer, head)
    options.setdefault("title", what)
    spec = on_patches(
        run,
        attention.weights[layer, head],
        allowed=attention.allowed[layer, head],
        python=lines(run, "picture_view", layer=layer, head=head, kind=attention.kind),
        **options,
    )
    return _run_picture(PICTURE, spec, run, attention, what, 620, layer, head)


def draw(name: str, *arguments: Any, whose: Mapping[str, Any] | None = None, **options: Any) -> Picture:
    """Draw any instrument on numbers of your own: `draw("marked", words, above=chances)`.

    arguments, options: those of the instrument, `viz.instruments.marked.marked.Marked` for "marked".
    whose: the numbers, by the names of an `Origin`: dict(model="gpt-mini", text="...", layer=1, head=5).
    """
    module = import_module(f"viz.instruments.{name}.{name}")
    packet: Packet = getattr(module, f"{name}_packet")(*arguments, **options)
    return Picture(
        getattr(module, name.upper()),
        packet,
        name=options.get("title") or name,
        origin=Origin(**(whose or {})),
    )
