"""The fold of the exhibit on masks with two sentences in one batch: every mask of the translator, and a proof."""

from __future__ import annotations

import streamlit as st

import core.serving.engine
from viz.course.shared import masks_panels
from viz.course.shared.padded_batch import BatchMasks, Change, batch_masks, padded_content, run_batch
from viz.instruments import heatmap
from viz.labels import query_and_key
from viz.languages import _, mark
from viz.shell import errors, state
from viz.widgets import controls, engine_client, page_parts

TRANSLATOR = "translator-en-es"


def two_sentences() -> None:
    """Draw two sentences in one batch of the translator: every mask, and evidence that padding does not count."""
    left, right = st.columns(2, gap="large")
    with left:
        first = controls.text(
            _("The longer sentence"),
            "masks.first",
            "The red house on the hill is very old.",
            model=TRANSLATOR,
        )
    with right:
        second = controls.text(
            _("The shorter sentence, padded with PAD"),
            "masks.second",
            "She has a white car.",
            model=TRANSLATOR,
        )
    controls.seed_input("masks.draw", 0, 99)
    with errors.guard():  # what the translator cannot read leaves the rest of the page alone
        page_parts.summary(
            draw(first, second, "masks.batch", state.read("masks.draw", 0, state.whole_number(0, 99)))
        )


def draw(first: str, second: str, key: str, lot: int = 0, *, across: int = 2, height: int = 300) -> str:
    """Draw the masks of the shorter sentence, `across` in a row; return a text on their use and on the effect of padded content."""
    masks, change = masks_and_change(first, second, lot)
    sources, targets = masks_panels.labels(masks.sources), masks_panels.labels(masks.targets)
    shown = (
        (mark("Source padding"), masks.source_padding, sources),
        (mark("Target padding"), masks.target_padding, targets),
        (mark("Causal"), masks.causal, targets),
        (mark("Target: both"), masks.union, targets),
    )
    gap = "large" if across == 2 else "small"
    places = [place for _row in range(4 // across) for place in st.columns(across, gap=gap)]
    for place, (title, mask, keys) in zip(places, shown, strict=True):
        with place:
            options = {"height": height, "axis": query_and_key("token", across=keys is sources)}
            heatmap(mask, targets, keys, key=f"{key}.{title}", allowed=mask, title=_(title), **options)
    use = _(
        "Each cell is the factor e^M: 1 keeps, e^−∞ = 0 removes. The translator's cross-attention uses the first mask, its decoder's self-attention the last."
    )
    proof = _(
        "Other tokens on the {n} padded positions of this batch: the hidden states of the real words change by {masked:.1f} with the masks, and by up to {unmasked:.2f} when padding counts as words.",
        n=change.padded,
        masked=change.with_mask,
        unmasked=change.without_mask,
    )
    return f"{use}\n{proof}"


def masks_and_change(first: str, second: str, lot: int = 0) -> tuple[BatchMasks, Change]:
    """Return the masks of the shorter sentence of a batch of two, and the effect of other content on the padded positions."""
    return engine_client.submit(
        ("masks.batch", first, second, lot), lambda: _batch((first, second), lot), 20 * len(first + second)
    )


def _batch(texts: tuple[str, str], lot: int) -> tuple[BatchMasks, Change]:
    runs = run_batch(core.serving.engine.default().open(TRANSLATOR), texts)
    return batch_masks(min(runs, key=lambda run: run.source.n_real if run.source else 0)), padded_content(
        runs, lot
    )
