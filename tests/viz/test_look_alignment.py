"""Look with recurrent translators: one alignment, a Gaussian beside it, or nothing to look at."""

from __future__ import annotations

import json

import numpy as np
import pytest
from packets import carried, packets_of
from tiny_models import serving
from workspace_pages import NEAR, header, matrix, page, said, sent

from core.analysis.arithmetic.cell import attention_row

TEXT, TARGET = "She has a white car.", "Ella tiene un auto."
NAMES = ("none", "bahdanau", "luong-global", "luong-local-p")


LOCAL = {"luong-local-p": ("seq2seq", {"attention": "luong-local-p", "score": "dot"})}
engine = serving(*NAMES[:3], models=LOCAL)


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", NAMES)
def test_the_picture_is_the_alignment_of_the_run_or_says_that_there_is_none(engine, name):
    folds = {"fold:look.arithmetic": True} | NEAR
    test = page("look", folds, model=name, text=TEXT, target=TARGET, view="full")
    if name == "none":
        assert "no attention" in said(test) and not sent(test, "layout")
        return
    wanted = engine.open(name).run(TEXT, target=TARGET).attention("alignment", by="word", writing=True)
    head = header(test, "layout", "words")
    assert (head["layout"], head["keys"]) == ("two", list(wanted.keys))
    np.testing.assert_allclose(matrix(test, "layout", "words"), wanted.weights[0, 0], atol=1e-6)
    (table,) = (frame.value for frame in test.dataframe if "exp(s − max)" in frame.value.columns)
    assert ("Gaussian" in table.columns) == (name == "luong-local-p") and "q · k" not in table.columns
    lines = json.loads(carried(*packets_of(test))[header(test, "cell", "residue")["lines"]])
    steps = [line["name"] for line in lines]
    assert "weight" in steps and ("gaussian" in steps) == (name == "luong-local-p")


@pytest.mark.parametrize("name", NAMES[1:])
def test_the_arithmetic_ends_at_the_weight_of_the_run(engine, name):
    run = engine.open(name).run(TEXT, target=TARGET)
    for query, weights in enumerate(run.attention("alignment").weights[0, 0]):
        row = attention_row(run, "alignment", 0, 0, query)
        np.testing.assert_allclose(row.weights, weights, atol=1e-5)
        assert row.residue < 1e-5 and row.dots is None
        assert (row.gaussian is None) == (name != "luong-local-p")
