"""Masks: why the next word leaks, sums over the words so far, the mask that does the same; then choose a mask, or draw one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from core import edits
from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.self_attention.masks import causal_more as more
from viz.course.self_attention.masks import causal_steps as steps
from viz.course.self_attention.masks import editor
from viz.course.shared.maths import masks as lesson_of
from viz.course.shared.shown import folds
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import lesson, parts

EXHIBIT = Exhibit(
    title="Masks",
    chapter=Chapter.SELF_ATTENTION,
    order=30,
    minutes=12,
    claim="A mask is a boolean, and softmax does the rest.",
    cites=(
        Cite("ghojogh2023", "masked multihead attention with self-attention", "Eqs. (27), (28)", step=3),
        Cite("ghojogh2020", "section 3.3.1", "Eqs. (28), (29)", step=3),
        Cite("ghojogh2020", "section 2.4.1", "Fig. 4", step=4),
        Cite("beigy2021", "intra-attention", "“The FBI is chasing a criminal on the run.”", step=4),
        Cite("beigy2021", "decoder self-attention and masking; encoder-decoder attention and masking", step=6),
        Cite("beigy2024", "encoder-decoder attention, BigBird model", step=6),
        Cite("lifei2022", "practical considerations", "why the future is hidden", step=1),
        Cite("lifei2022", "practical considerations", "prefix sums y_i, the upper triangle", step=2),
        Cite("cheng2016", "section 3", "Fig. 1", step=4),
        Cite("vaswani2017", "section 3.2.3", step=1),
        Cite("raffel2020", "section 3.2.1", "Fig. 3: causal with prefix", step=6),
        Cite("zaheer2020", "section 2", "Fig. 1: window, global, random", step=6),
    ),
)  # fmt: skip
SLUG = "masks."
STEPS = (
    lesson.Step("Leak", "A model learns to predict the next of random digits, and may look ahead. Without looking it cannot be predicted."),
    lesson.Step("Sums", "So sum over the words so far, and no further: y₁ has one term, y₂ two, yᵢ has i. Line by line."),
    lesson.Step("Mask", "All lines at once: every score, plus a mask of 0 and −∞, through one softmax. The same numbers."),
    lesson.Step("Remember", "Each line is a word as it is read, and its weights say which earlier words it remembers."),
    lesson.Step("Not quite", "A large number instead of −∞, a word that may not attend to itself, a word that may attend to nothing."),
    lesson.Step("Your own", "Scores, mask and pattern of a real head. Choose a mask, or click its cells, and the run changes."),
)
SHOW = (steps.leak, steps.prefix, steps.mask, more.lines, more.edges)
ERRATA = (("E48",), ("E48",), ("E2", "E48"), ("E55",), ("E17", "E48"))
EDITOR = len(STEPS) - 1
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
    recipe: lesson_of.Recipe = field(default_factory=lesson_of.Recipe)
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
    allowed = lesson_of.Recipe("sparse").allowed(10)
    return thumbs.cells(np.where(allowed, 0.8, 0.0), allowed)


def opening() -> tuple[int, int]:
    """Layer and head that the page opens with: measured on its own sentences, the one that looks back most sharply."""
    runs = [default().run(RunRequest(MODEL, text, keep=("*.pattern",))) for text in SENTENCES]
    far = lesson_of.looks_back(run.attention("causal").weights for run in runs)
    layer, head = np.unravel_index(far.argmax(), far.shape)
    return int(layer), int(head)


def page() -> None:
    """Claim, steps, and of the chosen step one picture, its numbers and its control; the last step is the editor."""
    parts.title(EXHIBIT)
    if not state.peek("masks.step") and editor.wanted():  # a link from before there were steps
        state.write(**{"masks.step": len(STEPS)})
    at, start = lesson.steps(STEPS, SLUG), Params()
    if at == EDITOR:
        editor.show(EXHIBIT, MODEL, SENTENCES, start, compute, opening)
        return
    with errors.guard():
        shown = SHOW[at](start)
        aside = steps.surprise_aside() if at == 0 else lambda: None
        folds(EXHIBIT, "masks", STEPS[at].name, shown, aside, lambda: lesson.errata(*ERRATA[at]))
