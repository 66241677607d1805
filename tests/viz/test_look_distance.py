"""The table of a relative bias stands in Look's full view, of models that have one."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from streamlit.testing.v1 import AppTest
from tiny_models import served

from core.analysis.attribution.score_parts import scores_of_attending
from core.analysis.heads.relative_bias import bias_by_distance
from viz.workspace.look import relative_bias
from viz.workspace.shared.head_ref import HeadRef


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with (
        pytest.MonkeyPatch.context() as patch,
        served(patch, tmp_path_factory.mktemp("models"), "tiny-t5", "tiny-llama") as engine,
    ):
        yield engine


def full(model: str, **link: str) -> AppTest:
    test = AppTest.from_string("from viz.shell import pages\npages.find('look').page()", default_timeout=60)
    for key, value in {
        "model": model,
        "text": "She has a car.",
        "view": "full",
        "layer": "0",
        "head": "1",
        **link,
    }.items():
        test.query_params[key] = value
    test.session_state[f"fold:{relative_bias.KEY}"] = True
    test.run()
    assert not test.exception
    return test


def folds(test: AppTest) -> list[str]:
    return [button.label for button in test.button if (button.key or "").startswith("word:fold:")]


def test_the_picture_holds_the_numbers_of_the_stack_in_view(engine):
    test = full("tiny-t5", kind="causal")
    found = bias_by_distance(engine.open("tiny-t5"), "causal")
    assert relative_bias.NAME in folds(test)
    said = "\n".join(element.value for element in test.markdown)
    assert relative_bias.in_words(found, HeadRef("causal", 0, 1)) in said
    cells = drawn_rows(relative_bias.picture(found, 1), "value")
    assert [cell["value"] for cell in cells] == pytest.approx(found.values.ravel().tolist(), abs=5e-5)


def test_where_nothing_is_added_there_is_no_picture(engine):
    assert relative_bias.NAME not in folds(full("tiny-t5", kind="cross"))
    assert relative_bias.NAME not in folds(full("tiny-llama", kind="causal"))


def test_what_it_writes_names_the_words_with_the_largest_sums(engine):
    test = full("tiny-llama", kind="causal", layer="1")
    test.session_state["fold:look.writes"] = True
    test.run()
    assert not test.exception
    (sentence,) = (text.value for text in test.text if text.value.startswith("At “"))
    run = engine.open("tiny-llama").run("She has a car.")
    weights = run.trace["layer.1.self_attn.pattern"][1]
    n = len(weights)
    largest = {
        f"{(weights[q, k] * scores_of_attending(run, 'causal', 1, 1, q, k)).max():+.2f}"
        for q in range(n)
        for k in range(q + 1)
    }
    assert sentence.split("adds ")[1].split()[0] in largest


def test_why_here_splits_the_score_of_the_chosen_cell(engine):
    """The number of the sentence is the recorded score, the bars add up to it, and heads lead to their own view."""
    run = engine.open("tiny-llama").run("She has a car.")
    test = full("tiny-llama", kind="causal", layer="1")
    assert "Why here?" in folds(test)
    test.session_state["fold:look.why"] = True
    test.run()
    assert not test.exception
    (sentence,) = (text.value for text in test.text if text.value.startswith("The score of query"))
    recorded = run.trace["layer.1.self_attn.scores"][1]
    score = float(sentence.split(" is ")[1].split(". ")[0])
    assert np.isclose(recorded, score, atol=6e-4).any()
    (table,) = (frame.value for frame in test.dataframe if "key part" in frame.value)
    assert table["part of the score"].sum() == pytest.approx(score, abs=5e-3)
