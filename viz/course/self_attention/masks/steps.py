"""The first steps on masks: what leaks, the sum over the words so far, the mask that does the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.maths import max_difference
from viz.charts import marks
from viz.course.exhibit import Folds
from viz.course.self_attention.masks import charts, maths, read
from viz.course.self_attention.masks.params import SEES, SLUG, Params
from viz.course.shared.maps import side_by_side
from viz.instruments.kit import origin
from viz.labels import distinct, percent
from viz.languages import _, mark, ngettext
from viz.number_text import number, or_exactly_zero, tiny, two_digits, without_percent_sign
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

BACK = mark("only back, by a mask")
LOW = 260
"""Height of a map in present mode, in pixels, above its numbers and its control."""


def leak(params: Params, _data: object) -> Folds:
    """Ask how often a model predicts the next digit in training, then draw its accuracy; before the guess only chance."""
    sees, digits, draw = params.sees, params.digits, params.draw
    found, seen = _learned(sees, digits, draw), _(SEES[sees])
    measured = {
        "chance": percent(1 / digits),
        "lists": maths.FRESH,
        "right": percent(found.inside, 2),
        "end": percent(found.writing, 2),
    }
    known = exhibit_parts.predict_share(
        SLUG + "leak",
        _(
            "While it learns, a model sees {seen}, and has to predict the next of {digits} digits, which are drawn at random. How often is it right, at all positions but the last?",
            seen=seen,
            digits=digits,
        ),
        round(found.inside, 2),
        _(
            "By chance (baseline): {chance}; measured on {lists:,} fresh lists: {right}. Random digits cannot be predicted from the earlier ones.",
            **measured,
        )
        if sees == "past"
        else _(
            "By chance (baseline): {chance}; measured on {lists:,} fresh lists: {right}. It attends to the next digit itself and copies it. Where the list ends, it is right {end} of the time.",
            **measured,
        ),
    )
    shares = {seen if sees != "past" else _(BACK): found.right}
    if known and sees != "past":
        shares[_(BACK)] = _learned("past", digits, draw).right
    positions = [*map(str, range(1, maths.LENGTH)), f"{maths.LENGTH}\n{_('writes')}"]
    height = 290 if exhibit_parts.presenting() else 340
    drawn = _("Accuracy of the next digit, position by position.")
    page_parts.show(
        marks.columns(
            pd.DataFrame(shares, positions),
            without_percent_sign,
            x=_("position in the list"),
            title=_("accuracy of the next digit; dashed: chance, {chance}", chance=percent(1 / digits)),
            form=".0%",
            ends=(0, 1.12),
            level=1 / digits,
            covered=not known,
            height=height,
        ),
        SLUG + "leak.picture",
        drawn if known else _("Nothing but chance is drawn before the guess."),
    )
    if known:
        right = _(
            "It sees {seen}: {inside} right where the next digit is in the list, {end} where the list ends.",
            seen=seen,
            inside=percent(found.inside),
            end=percent(found.writing),
        )
        st.text(f"{right} {_copied(sees, found)}")
    else:
        st.text(
            _(
                "The digits are random. A model that cannot see the next one is right {chance} of the time.",
                chance=percent(1 / digits),
            )
        )
    places = range(1, maths.LENGTH + 1)
    return Folds(
        {"place": places, "right": np.round(found.right, 4)},
        {"right": found.right, "pattern": found.pattern},
        {},
        known,
        {"masked.mask": {}},
        (rf"\text{{chance}} = \tfrac{{1}}{{{digits}}} = {1 / digits:.2f}",),
        note_below=lambda: _lifted_now(params.text),
    )


def _copied(sees: str, learned: maths.Learned) -> str:
    if sees == "past":
        return _("It cannot copy the next digit, and in random lists there is nothing else to learn.")
    ahead = learned.pattern[np.arange(7), np.arange(1, 8)].mean()
    return _(
        "Its heads give {share} of their attention to the next digit: it learned to copy, not to predict.",
        share=percent(ahead),
    )


def _learned(sees: str, digits: int, draw: int) -> maths.Learned:
    return engine_client.submit(
        ("masks.leak", sees, digits, draw), lambda: maths.learned(sees, digits, draw), 800
    )


def _lifted_now(text: str) -> None:
    """Show the loss of gpt-mini with its mask removed, a case that it was not trained for."""
    with_mask, without = read.surprises(text)
    st.text(
        _(
            "gpt-mini was trained with the mask. Now the mask is removed in every layer, for “{text}”: its cross-entropy loss is {with_mask:.2f} nats per token with the mask and {without:.2f} without. It was never trained to read ahead, so it hardly uses the next token, although it may attend to it: the mask matters during training.",
            text=text,
            with_mask=with_mask,
            without=without,
        )
    )


def prefix(params: Params, data: read.Head) -> Folds:
    """Draw the sums over the words so far, line by line."""
    found = read.reading(params.text, data)
    tell(params.text, data)
    form, n = maths.prefix_form(found.scores, found.values), len(found.words)
    picture = st.container()
    # there are as many lines as words
    shown = controls.slider(_("Lines"), 1, n, SLUG + "lines", min(3, n)) if n > 1 else 1
    weights, y = form.weights[shown - 1], form.outputs[shown - 1]
    with picture:
        height = min(330, 60 + 34 * n) if exhibit_parts.presenting() else None
        page_parts.show(
            charts.sums(form.weights, found.words, shown, height=height),
            SLUG + "prefix.picture",
            _("The first {n} sums: each word weighs the words up to itself.", n=shown),
        )
        terms = " + ".join(
            _("{weight:.2f} “{word}”", weight=float(weight), word=word)
            for weight, word in zip(weights[:shown], found.words, strict=False)
        )
        page_parts.summary(
            ngettext(
                "{y} = {terms}: {n} term, {total:.3f} together. All {lines} lines have {all} terms; without a mask there would be {square}.",
                "{y} = {terms}: {n} terms, {total:.3f} together. All {lines} lines have {all} terms; without a mask there would be {square}.",
                shown,
                y=f"y{str(shown).translate(charts.LOW)}",
                terms=terms,
                total=float(weights.sum()),
                lines=n,
                all=n * (n + 1) // 2,
                square=n * n,
            )
        )
    first = [*(number(float(x)) for x in y[:3]), *["…"] * (len(y) > 3)]
    values = {"y_i": first, "alpha_ij": number(float(weights[0]), 4)}
    return Folds(
        lambda: table(form.weights, found.words),
        {"weights": form.weights, "y": form.outputs},
        lines(),
        equations={"causal.prefix": values, "causal.weights": {}},
    )


def mask(params: Params, data: read.Head) -> Folds:
    """Draw the same numbers by one matrix product and a mask; without the mask every line sees the later words."""
    text, without = params.text, params.lifted
    found = read.reading(text, data, unmasked=without)
    tell(text, data, _("without the causal mask") if without else "")
    n, words = len(found.words), found.words
    may = np.ones((n, n), bool) if without else np.tri(n, dtype=bool)
    one = maths.prefix_form(found.scores, found.values)
    other = maths.mask_form(found.scores, found.values, may)
    moved = int((found.changes > 0).sum())
    answers = (_("all {n}", n=n), _("only the last"), _("none")) if n > 1 else (_("the only one"), _("none"))
    values = {"word": words[-1], "n": n, "moved": moved}
    known = exhibit_parts.predict(
        SLUG + "moved",
        _(
            "Without the mask: the last word, “{word}”, is replaced by another one. Which of the {n} outputs y change?",
            **values,
        )
        if without
        else _(
            "With the mask: the last word, “{word}”, is replaced by another one. Which of the {n} outputs y change?",
            **values,
        ),
        answers,
        answers[0] if moved == n else answers[1] if moved == 1 else answers[-1],
        _(
            "Measured: {moved} of {n} change, the others by exactly 0. Every line sums over the last word too.",
            **values,
        )
        if without
        else _(
            "Measured: {moved} of {n} change, the others by exactly 0. The last word is a term of the last line only.",
            **values,
        ),
    )
    of_scores = {"scale": "score", "limit": float(np.abs(found.scores).max()) or 1.0, "numbers": True}
    of_mask = {"allowed": may, "title": _("Mask M"), "unit": "looks, M = 0", "shut": "M = −∞"}
    of_pattern = {"allowed": may, "title": "softmax(S + M)", "numbers": True}
    shown = {
        SLUG + "form.scores": (found.scores, of_scores | {"title": _("Scores S")}),
        SLUG + "form.mask": (may.astype(float), of_mask),
        SLUG + "form.pattern": (other.weights, of_pattern),
    }
    if exhibit_parts.presenting():  # there the hatching of the result is the mask
        shown.pop(SLUG + "form.mask")
    side_by_side(words, shown, height=LOW if exhibit_parts.presenting() else 300)
    weights, outputs = maths.gaps(one, other)
    own = max_difference(other.weights, found.pattern)
    st.text(
        _(
            "Compared with the sums line by line, the weights differ by {weights}, the outputs y by {outputs}; the model's own weights (32 bits) by {own}.",
            weights=_largest_gap(weights.max()),
            outputs=_largest_gap(outputs.max()),
            own=tiny(own),
        )
        + (_(" With another last word {moved} of the {n} outputs change.", **values) if known else "")
    )
    return Folds(
        lambda: table(other.weights, words),
        {"scores": found.scores, "weights": other.weights, "y": other.outputs},
        lines(without),
        known,
        {"masked.matrix": {}, "masked.mask": {}},
        (r"e^{0} = 1 \text{ keeps}, \qquad e^{-\infty} = 0 \text{ removes}",),
    )


def _largest_gap(gap: float) -> str:
    return or_exactly_zero(gap, _("at most {gap}", gap=two_digits(gap)))


def tell(text: str, head: read.Head, changed: str = "") -> None:
    """Set the provenance of the numbers on the page."""
    origin.tell(model=read.MODEL, text=text, kind="causal", layer=head.layer, head=head.head, changed=changed)


def table(weights: np.ndarray, words: list[str]) -> pd.DataFrame:
    """Return the weights, one line y per word."""
    names = distinct(words)
    lines = [f"y{i + 1} {name}" for i, name in enumerate(names)]
    return pd.DataFrame(np.round(weights, 4), index=lines, columns=names)


def lines(unmasked: bool = False) -> dict[str, str]:
    """Return parts of the lines of Python for both forms of a head: the edits of its run and the mask."""
    if not unmasked:
        return {"free": "free = []", "allowed": "None"}
    free = (
        "from core import edits\nn = len(model.run(text, keep=[]).tokens)\n"
        "free = [edits.SetAllowed('layer.*.self_attn.allowed', ((True,) * n,) * n)]"
    )
    return {"free": free, "allowed": "scores == scores"}
