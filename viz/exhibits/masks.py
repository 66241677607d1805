"""Masks: scores, mask and pattern of one real head side by side; choose a mask, or draw one by clicking its cells."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import streamlit as st

from core import edits
from core.engine import RunRequest, default
from core.lessons import masks as lesson
from viz.exhibits import _masks_batch as batch
from viz.exhibits import _masks_folds as folds
from viz.exhibits import _masks_panels as panels
from viz.figures import thumbs
from viz.pages import Chapter, Cite, Exhibit
from viz.ui import compute as ask
from viz.ui import controls, parts, state

EXHIBIT = Exhibit(
    title="Masks",
    chapter=Chapter.SELF_ATTENTION,
    order=30,
    minutes=8,
    claim="A mask is a boolean, and softmax does the rest.",
    cites=(
        Cite("ghojogh2023", "masked multihead attention with self-attention", "Eqs. (27), (28)"),
        Cite("ghojogh2020", "section 3.3.1", "Eqs. (28), (29)"),
        Cite("beigy2021", "decoder self-attention and masking; encoder-decoder attention and masking"),
        Cite("beigy2024", "encoder-decoder attention, BigBird model"),
        Cite("lifei2022", "practical considerations", "prefix sums y_i, the upper triangle"),
        Cite("vaswani2017", "section 3.2.3"),
        Cite("raffel2020", "section 3.2.1", "Fig. 3: causal with prefix"),
        Cite("zaheer2020", "section 2", "Fig. 1: window, global, random"),
    ),
)
MODEL = "gpt-mini"
SENTENCES = ("I am a student.", "The little dog ran after the ball.", "She was hungry, so she ate the apple.")


@dataclass(frozen=True)
class Params:
    """What the visitor chose: sentence, head, and the mask by name and numbers or drawn (rows of booleans).

    `everywhere` puts the mask into every layer instead of this one only.
    """

    text: str = SENTENCES[1]
    layer: int = 0
    head: int = 0
    recipe: lesson.Recipe = field(default_factory=lesson.Recipe)
    drawn: tuple[tuple[bool, ...], ...] | None = None
    everywhere: bool = False


@dataclass(frozen=True)
class Data:
    """One head of one real run under the chosen mask: labels, scores, what was allowed, pattern (query key)."""

    tokens: tuple[str, ...]
    scores: np.ndarray
    allowed: np.ndarray
    pattern: np.ndarray
    path: str
    d_head: int


def compute(params: Params = Params()) -> Data:
    """Run the model with the mask put in place, and read scores, allowed and pattern of the head off its trace."""
    n = len(default().run(RunRequest(MODEL, params.text, keep=())).tokens)
    rows = params.drawn or tuple(map(tuple, params.recipe.allowed(n).tolist()))
    path = f"layer.{params.layer}.self_attn"
    where = ("layer.*.self_attn" if params.everywhere else path) + ".allowed"
    run = default().run(
        RunRequest(
            MODEL, params.text, keep=(f"{path}.scores", f"{path}.pattern"), edits=(edits.SetAllowed(where, rows),)
        )
    )
    scores, allowed, pattern = (run.trace[f"{path}.{leaf}"][params.head] for leaf in ("scores", "allowed", "pattern"))
    return Data(run.tokens, scores, allowed, pattern, path, run.model.config.d_head)


def thumbnail() -> str:
    """Window, global words and the past, as BigBird has it: the mask of the kind "sparse"."""
    allowed = lesson.Recipe("sparse").allowed(10)
    return thumbs.cells(np.where(allowed, 0.8, 0.0), allowed)


def opening() -> tuple[int, int]:
    """Layer and head that the page opens with: measured on its own sentences, the one that looks back most sharply."""
    runs = [default().run(RunRequest(MODEL, text, keep=("*.pattern",))) for text in SENTENCES]
    far = lesson.looks_back(run.attention("causal").weights for run in runs)
    layer, head = np.unravel_index(far.argmax(), far.shape)
    return int(layer), int(head)


def page() -> None:
    """Claim, sentence, mask, the three matrices, one sentence of numbers; everything else folded."""
    parts.title(EXHIBIT)
    start = Params()
    text = controls.text("Sentence", "text", start.text, quiet=True, placeholder="Type a sentence")
    controls.preset_row(SENTENCES, "text", start.text)
    kind = controls.pills("Mask", panels.PILLS, "masks.kind", start.recipe.kind, panels.PILLS.__getitem__, quiet=True)
    config = default().open(MODEL).config
    layer, head = ask.submit("masks.opening", opening, 500)
    n = len(ask.run(MODEL, text, keep=()).tokens)
    params = replace(
        start,
        text=text,
        layer=state.read("layer", layer, state.one_of(range(config.n_layers))),
        head=state.read("head", head, state.one_of(range(config.n_heads))),
        recipe=folds.recipe(kind, start.recipe),
        everywhere=state.read("masks.everywhere", False, state.flag),
    )
    if kind == panels.OWN:
        params = replace(params, drawn=panels.drawn(params.recipe, n))
    picture = st.container()
    data = ask.submit(("masks", params), lambda: compute(params), 2 * len(text) * config.n_layers)
    lines = folds.code(MODEL, params)
    with picture:
        at = panels.three(data, params, lines)
    parts.numbers(folds.sentence(data, *at))
    panels.head(config, layer, head)
    folds.change_it(kind, start.recipe)
    folds.finite(data)
    batch.fold()
    folds.question(data, at[0])
    folds.equation(data, *at)
    folds.looking_at(data, params)
    parts.documents(EXHIBIT, folds.documents)
    parts.as_table(lambda: folds.table(data), "masks")
    parts.take_away(lambda: folds.arrays(data), lines, key="masks")
