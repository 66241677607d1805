"""The build-up before the mask editor: what leaks, the sum over the words so far, the mask that does the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts.curves import number, tiny
from viz.course.self_attention.masks import causal_run as runs
from viz.course.self_attention.masks.charts import causal as figures
from viz.course.self_attention.masks.maths import causal_forms as forms
from viz.course.self_attention.masks.maths import leaking
from viz.course.shared import masks_panels as panels
from viz.course.shared.shown import Shown
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.labels import distinct, percent
from viz.shell import state
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

SLUG = "masks."
TEXT = "The little dog ran after the ball."
SENTENCES = ("I am a student.", TEXT, "She was hungry, so she ate the apple.")
SEES = {"all": "the whole list", "next": "back and one ahead", "past": "only back"}
DIGITS = (2, 3, 5, 10)
BACK = "only back, by a mask"
LOW = 260
"""Pixels of a map before a room, above its numbers and its control."""
LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
LOOKING_LEAK = (
    "One head of attention learned to predict the next digit of random lists, twice: with a causal mask and with another. The next digit cannot be predicted, so a model that is right more often than chance has read "
    "it. A bar is the share of 4,000 fresh lists that it gets right at this position. At the shaded position the list ends: there the next digit does not exist yet, as for every word that a model writes. What "
    "it learned, to look one position ahead, is worth nothing there. **Try** “back and one ahead”: one masked cell too few per row is enough."
)
LOOKING_PREFIX = (
    "Each line is one word, and its sum runs over the words up to itself: no cell is masked, there simply are no more terms. The weights of a line are a softmax over its own scores, so they add up to 1; the "
    "first line has one weight, 1, whatever its score. They are those of one head of gpt-mini; the vectors that are summed are its values."
)
LOOKING_MASK = (
    "**Left**, the scores of every pair, the future included. **Middle**, the mask M: 0, or, hatched, −∞. **Right**, softmax of their sum, row by row: e^0 = 1 keeps, e^−∞ = 0 removes. One matrix product "
    "for all lines, and the same numbers as the sums line by line. **Try** to take the mask away: the upper half fills, and every line then depends on words that come later."
)


def leak(start: Any) -> Shown:
    """Two small models learn the next digit; before the guess only chance is shown."""
    sees = state.read(SLUG + "sees", "all", state.one_of(tuple(SEES)))
    digits = state.read(SLUG + "digits", 10, state.one_of(DIGITS))
    draw = state.read(SLUG + "draw", 0, state.whole(0, 99))
    found = _learned(sees, digits, draw)
    question, picture = st.container(), st.container()
    with question:
        told = lesson.predict_number(
            SLUG + "leak", f"While it learns, a model sees {SEES[sees]}, and is to say the next of {digits} digits, which are drawn at random. How often is it right, at all positions but the last?",
            0.0, 1.0, round(found.inside, 2), f"By chance (baseline): {percent(1 / digits)}; measured on {leaking.FRESH:,} fresh lists: {percent(found.inside, 2)}. "
            + ("Nothing was learned: there is nothing to learn." if sees == "past" else f"It looks at the next digit itself and copies it. Where it has to write, it is right {percent(found.writing, 2)} of the time."),
            0.05, "%",
        )  # fmt: skip
    shares = {SEES[sees] if sees != "past" else BACK: found.right} if told else {}
    if told and sees != "past":
        shares[BACK] = _learned("past", digits, draw).right
    with picture:
        parts.show(figures.rightness(shares, 1 / digits, places=leaking.LENGTH, height=290 if lesson.presenting() else 340), SLUG + "leak.picture",
                   "Accuracy of the next digit, position by position." if told else "Nothing but chance is drawn before the guess.")  # fmt: skip
    picture.text(
        f"With {SEES[sees]} in sight: {percent(found.inside)} right where the answer stands in the list, {percent(found.writing)} where it has to write. " + _lost(sees, found) if told
        else f"The digits are random. A model that cannot see the next one is right {percent(1 / digits)} of the time."
    )  # fmt: skip
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width="content"):
            controls.pills("The model sees", tuple(SEES), SLUG + "sees", "all", SEES.__getitem__)
        controls.draw(SLUG + "draw", 0, 99)
    lines = f"from viz.course.self_attention.masks.maths.leaking import learned\n\nfound = learned({sees!r}, {digits}, draw={draw})\nprint(found.right)  # the last place has to write"
    table = {"place": list(range(1, leaking.LENGTH + 1)), "right": np.round(found.right, 4)} if told else {"": ["Guess first: then the numbers are here."]}
    return Shown(
        {"masked.mask": {}}, (rf"\text{{chance}} = \tfrac{{1}}{{{digits}}} = {1 / digits:.2f}",), LOOKING_LEAK, lambda: pd.DataFrame(table),
        {"right": found.right, "pattern": found.pattern} if told else {}, lines, lambda: controls.pills("Digits in the lists", DIGITS, SLUG + "digits", 10),
    )  # fmt: skip


def _lost(sees: str, found: leaking.Learned) -> str:
    if sees == "past":
        return "It cannot cheat, and in random lists there is nothing else to learn."
    return f"Its heads look {percent(found.pattern[np.arange(7), np.arange(1, 8)].mean())} at the next digit: it learned to copy, not to predict."


def _learned(sees: str, digits: int, draw: int = 0) -> leaking.Learned:
    return ask.submit(("masks.leak", sees, digits, draw), lambda: leaking.learned(sees, digits, draw), 800)


def prefix(start: Any) -> Shown:
    """The sums over the words so far, line by line."""
    top = st.container()
    text = _sentence()
    with top:
        layer, head = _head()
        found = runs.reading(text, layer, head)
        origin.tell(model=runs.MODEL, text=text, kind="causal", layer=layer, head=head)
        form, n = forms.prefix_form(found.scores, found.values), len(found.words)
        picture = st.container()
        shown = controls.slider("Lines", 1, n, SLUG + "lines", min(3, n)) if n > 1 else 1
        with picture:
            tall = {"height": min(330, 60 + 34 * n)} if lesson.presenting() else {}
            parts.show(figures.sums(form.weights, found.words, shown, **tall), SLUG + "prefix.picture", f"The first {shown} sums: each word weighs the words up to itself.")
            terms = " + ".join(f"{w:.2f} “{word}”" for w, word in zip(form.weights[shown - 1, :shown], found.words, strict=False))
            parts.numbers(f"y{str(shown).translate(LOWERED)} = {terms}: {shown} {'terms' if shown > 1 else 'term'}, {form.weights[shown - 1].sum():.3f} together. All {n} lines have {n * (n + 1) // 2} terms; every pair would be {n * n}.")
    return Shown(
        {"causal.prefix": {"y_i": _short(form.outputs[shown - 1]), "alpha_ij": number(float(form.weights[shown - 1, 0]), 4)}, "causal.weights": {}}, (), LOOKING_PREFIX,
        lambda: _lines(form.weights, found.words), {"weights": form.weights, "y": form.outputs}, _code(text, layer, head), _choose_head,
    )  # fmt: skip


def mask(start: Any) -> Shown:
    """The same numbers by one matrix product and a mask; taken away, every line sees what comes later."""
    top = st.container()
    text = _sentence()
    with top:
        layer, head = _head()
        without = state.read(SLUG + "lifted", False, state.flag)
        found = runs.reading(text, layer, head, without=without)
        origin.tell(model=runs.MODEL, text=text, kind="causal", layer=layer, head=head, changed="without the causal mask" if without else "")
        n = len(found.words)
        may = np.ones((n, n), bool) if without else np.tri(n, dtype=bool)
        one, other = forms.prefix_form(found.scores, found.values), forms.mask_form(found.scores, found.values, may)
        moved = int((found.moved > 0).sum())
        question, picture = st.container(), st.container()
        answers = (f"all {n}", "only the last", "none") if n > 1 else ("the only one", "none")
        answer = answers[0] if moved == n else answers[1] if moved == 1 else answers[-1]
        with question:
            told = lesson.predict(SLUG + "moved", f"{'Without' if without else 'With'} the mask: another last word in place of “{found.words[-1]}”. Which of the {n} lines y change?", answers, answer,
                              f"Measured: {moved} of {n} change, the others by exactly 0. " + ("Every line sums over the last word too." if without else "The last word is a term of the last line only."))  # fmt: skip
        limit = float(np.abs(found.scores).max()) or 1.0
        shown = {
            "Scores S": lambda title: heatmap(found.scores, found.words, found.words, key=SLUG + "form.scores", scale="score", limit=limit, title=title, numbers=True, height=LOW if lesson.presenting() else 300),
            "Mask M": lambda title: heatmap(may.astype(float), found.words, found.words, key=SLUG + "form.mask", allowed=may, title=title, unit="looks, M = 0", shut="M = −∞", height=LOW if lesson.presenting() else 300),
            "softmax(S + M)": lambda title: heatmap(other.weights, found.words, found.words, key=SLUG + "form.pattern", allowed=may, title=title, numbers=True, height=LOW if lesson.presenting() else 300),
        }
        if lesson.presenting():  # the hatching of the result is the mask
            del shown["Mask M"]
        for place, (title, draw) in zip(picture.columns(len(shown), gap="small"), shown.items(), strict=True):
            with place:
                draw(title)
        weights, outputs = forms.gaps(one, other)
        own = float(np.abs(other.weights - found.pattern).max())
        picture.text(f"Against the sums line by line: the weights differ by {_apart(weights.max())}, the outputs y by {_apart(outputs.max())}; the model's own weights (32 bits) by {tiny(own)}."
                      + (f" Another last word changes {moved} of {n} lines." if told else ""))  # fmt: skip
        controls.toggle("Take the mask away, in every layer", SLUG + "lifted", False)
    return Shown(
        {"masked.matrix": {}, "masked.mask": {}}, (r"e^{0} = 1 \text{ keeps}, \qquad e^{-\infty} = 0 \text{ removes}",), LOOKING_MASK,
        lambda: _lines(other.weights, found.words), {"scores": found.scores, "weights": other.weights, "y": other.outputs},
        _code(text, layer, head, without), _choose_head,
    )  # fmt: skip


def surprise_aside() -> Callable[[], None]:
    """gpt-mini with its mask lifted now, which it never saw while it learned."""

    def draw() -> None:
        text = state.read("text", TEXT)
        with_mask, without = runs.surprises(text)
        st.text(f"gpt-mini learned with the mask. Lift it now, in every layer, on “{text}”: its cross-entropy loss is {with_mask:.2f} nats per token with the mask and {without:.2f} without. "
                "It never learned to read ahead, so the answer lies open and it can hardly use it: the mask matters while a model learns.")  # fmt: skip

    return draw


def _sentence() -> str:
    text = controls.text("Sentence", "text", TEXT, placeholder="Type a sentence", of=runs.MODEL, most=f"up to {runs.LONGEST} tokens")
    controls.preset_row(SENTENCES, "text", TEXT)
    return text


def _head() -> tuple[int, int]:
    """The head in the link, or the one that looks back most sharply."""
    from viz.course.self_attention.masks import exhibit

    layer, head = ask.submit("masks.opening", exhibit.opening, 500)
    config = exhibit.default().open(runs.MODEL).config
    return state.read("layer", layer, state.one_of(range(config.n_layers))), state.read("head", head, state.one_of(range(config.n_heads)))


def _choose_head() -> None:
    from viz.course.self_attention.masks import exhibit

    panels.head(exhibit.default().open(runs.MODEL).config, *_head())


def _apart(gap: float) -> str:
    return "exactly 0" if gap == 0 else f"at most {gap:.2g}"


def _short(vector: np.ndarray) -> list[str]:
    return [number(float(x)) for x in vector[:3]] + ["…"] * (len(vector) > 3)


def _lines(weights: np.ndarray, words: list[str]) -> pd.DataFrame:
    names = distinct(words)
    return pd.DataFrame(np.round(weights, 4), index=[f"y{i + 1} {name}" for i, name in enumerate(names)], columns=names)


def _code(text: str, layer: int, head: int, without: bool = False) -> str:
    path = f"layer.{layer}.self_attn"
    free = ("from core import edits\nn = len(model.run(text, keep=[]).tokens)\nfree = [edits.SetAllowed('layer.*.self_attn.allowed', ((True,) * n,) * n)]\n" if without else "free = []\n")
    allowed = "scores == scores" if without else "None"
    return (f"import core\nfrom viz.course.self_attention.masks.maths.causal_forms import mask_form, prefix_form\n\nmodel, text = core.open_model({runs.MODEL!r}), {text!r}\n{free}"
            f"run = model.run(text, edits=free)\nscores, values = (run.trace['{path}.' + leaf][{head}] for leaf in ('scores', 'v'))\n"
            f"line_by_line, by_mask = prefix_form(scores, values), mask_form(scores, values, {allowed})\nweights = by_mask.weights")  # fmt: skip
