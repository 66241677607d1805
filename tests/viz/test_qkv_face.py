"""The sequence query, key, value: its numbers are those of one row of the run, for every family that compares by products."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core import open_model
from core.errors import InputError
from viz.instruments.qkv.of_run import sequence_of
from viz.instruments.qkv.qkv import MOST_KEYS, QkvSequence
from viz.workspace.look import first_minute

CASES = [
    ("translator-en-es", "She has a white car.", "cross", 1, 5, 2),
    ("translator-en-es", "She has a white car.", "self", 2, 1, 3),
    ("gpt-mini", "The king and the queen of the land went out to see their people.", "causal", 3, 2, 9),
    ("bert-mini", "The cat sat on the mat.", "self", 4, 0, 1),
]


@pytest.mark.parametrize(("model", "text", "kind", "layer", "head", "query"), CASES)
def test_the_five_scenes_show_the_numbers_of_the_run(
    model: str, text: str, kind: str, layer: int, head: int, query: int
) -> None:
    run = open_model(model).run(text)
    sent, found = sequence_of(run, kind, layer, head, query).packet().header, run.model.spec.kind(kind)

    def trace(leaf: str) -> np.ndarray:
        return run.trace[found.path(layer, leaf)][head]

    allowed = trace("allowed")[query]
    q, k = np.array(sent["q"]), np.array(sent["k"])
    assert np.array_equal(q, trace("q")[query]) and np.array_equal(k, trace("k")[allowed])
    assert np.allclose(k @ q / np.sqrt(len(q)), sent["scores"], atol=1e-4)
    assert sent["formula"] == f"q · k / √{len(q)}" and sent["steps"] == [f"divided by √{len(q)}"]
    powers = np.exp(np.array(sent["scores"]) - max(sent["scores"]))
    assert np.allclose(powers / powers.sum(), sent["weights"], atol=1e-5)
    assert np.allclose(sent["output"], trace("heads")[query], atol=1e-4)
    assert sent["width"] == run.model.config.d_model and sent["writing"] == (kind == "cross")
    assert len(sent["columns"]) == min(MOST_KEYS, int(allowed.sum()))


def test_of_a_long_text_the_largest_weights_are_drawn_and_the_rest_is_counted() -> None:
    weights = np.array([0.3, *np.full(14, 0.02), 0.42])
    packet = QkvSequence(
        "a",
        list("abcdefghijklmnop"),
        q=[1.0],
        k=np.zeros((16, 1)),
        v=np.ones((16, 1)),
        scores=np.zeros(16),
        weights=weights,
        width=4,
    ).packet()
    assert packet.header["columns"] == [0, *range(1, MOST_KEYS - 1), 15]
    assert packet.header["rest"] == pytest.approx(0.14)


def test_an_attention_without_keys_is_refused_and_not_offered() -> None:
    run = open_model("bahdanau-en-es").run("She has a white car.")
    with pytest.raises(InputError, match="no queries and keys"):
        sequence_of(run, "alignment", 0, 0, 1)
    page = (
        "from viz.shell import pages, state\nwith state.visit('look', True):\n    pages.find('look').page()"
    )
    offered = []
    for model in ("translator-en-es", "bahdanau-en-es"):
        test = AppTest.from_string(page, default_timeout=60)
        test.query_params["model"] = model
        test.run()
        assert not test.exception
        offered.append(first_minute.QUESTION in [button.label for button in test.button])
    assert offered == [True, False]


def test_arrays_of_different_lengths_are_named() -> None:
    with pytest.raises(ValueError, match="2 keys, but 1 key vectors"):
        QkvSequence(
            "a", ["a", "b"], q=[1.0], k=[[1.0]], v=[[1.0], [1.0]], scores=[0, 0], weights=[0.5, 0.5], width=4
        ).packet()
