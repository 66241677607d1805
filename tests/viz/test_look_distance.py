"""Look's full view: the table of a relative bias, what a head writes, and why it looks where it does."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import folds
from streamlit.testing.v1 import AppTest
from tiny_models import serving
from workspace_pages import page, said

from core.analysis.attribution.score_parts import scores_of_attending
from core.analysis.heads.relative_bias import bias_by_distance
from viz.workspace.look import relative_bias
from viz.workspace.shared.head_ref import HeadRef

TEXT = "She has a car."
FOLDS = {f"fold:{name}": True for name in (relative_bias.KEY, "look.writes", "look.why")}


engine = serving("tiny-t5", "tiny-llama")


def full(model: str, **link: str) -> AppTest:
    return page(
        "look", FOLDS, **{"model": model, "text": TEXT, "view": "full", "layer": "0", "head": "1"} | link
    )


def test_the_picture_holds_the_numbers_of_the_stack_in_view(engine):
    test, found = full("tiny-t5", kind="causal"), bias_by_distance(engine.open("tiny-t5"), "causal")
    assert relative_bias.NAME in folds(test)
    assert relative_bias.in_words(found, HeadRef("causal", 0, 1)) in said(test)
    cells = drawn_rows(relative_bias.picture(found, 1), "value")
    assert [cell["value"] for cell in cells] == pytest.approx(found.values.ravel().tolist(), abs=5e-5)


def test_where_nothing_is_added_there_is_no_picture(engine):
    assert relative_bias.NAME not in folds(full("tiny-t5", kind="cross"))
    assert relative_bias.NAME not in folds(full("tiny-llama", kind="causal"))


def test_what_it_writes_and_why_here_are_told_of_the_chosen_cell(engine):
    """The words with the largest sums; the recorded score, to which the bars add up."""
    test, run = full("tiny-llama", kind="causal", layer="1"), engine.open("tiny-llama").run(TEXT)
    (writes,) = (text.value for text in test.text if text.value.startswith("At “"))
    weights = run.trace["layer.1.self_attn.pattern"][1]
    cells = [(q, k) for q in range(len(weights)) for k in range(q + 1)]
    largest = {(weights[q, k] * scores_of_attending(run, "causal", 1, 1, q, k)).max() for q, k in cells}
    assert writes.split("adds ")[1].split()[0] in {f"{sum_:+.2f}" for sum_ in largest}
    (why,) = (text.value for text in test.text if text.value.startswith("The score of query"))
    score = float(why.split(" is ")[1].split(". ")[0])
    assert np.isclose(run.trace["layer.1.self_attn.scores"][1], score, atol=6e-4).any()
    (table,) = (frame.value for frame in test.dataframe if "key part" in frame.value)
    assert table["part of the score"].sum() == pytest.approx(score, abs=5e-3)
