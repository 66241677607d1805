"""Look with recurrent translators: one alignment, a Gaussian beside it, or nothing to look at."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from packets import carried, opened, unpacked
from streamlit.testing.v1 import AppTest

import core.serving.engine
from core.analysis.arithmetic.cell import attention_row
from core.model import Model
from core.models import families
from core.serving.engine import Engine, Listing
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe

TEXT = "She has a white car."
VARIANTS = {
    "none": {},
    "bahdanau": {},
    "luong-global": {"score": "general", "input_feeding": True},
    "luong-local-p": {"score": "dot"},
}


def build(attention: str) -> Model:
    torch.manual_seed(3)
    backend = learn_byte_level_bpe(
        [TEXT, "Ella tiene un auto blanco."] * 4, 300, ("<pad>", "<start>", "<end>"), prefix_space=True
    )
    family = families()["seq2seq"]
    config = replace(
        family.config.tiny(),
        n_vocab=backend.get_vocab_size(),
        n_ctx=61,
        attention=attention,
        **VARIANTS[attention],
    )
    network = family.network(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return Model(attention, family, config, network, Tokenizer(backend, pad=0, start=1, end=2))


@pytest.fixture(params=VARIANTS)
def model(request, monkeypatch):
    made = build(request.param)
    with Engine(
        opener={made.name: made}.__getitem__, listing=lambda: (Listing(made.name, True, "", "seq2seq"),)
    ) as engine:
        monkeypatch.setattr(core.serving.engine, "_default", engine)
        yield made


def look(**link: str) -> AppTest:
    test = AppTest.from_string("from viz.workspace.look import page\npage.page()", default_timeout=60)
    for key, value in ({"text": TEXT, "target": "Ella tiene un auto."} | link).items():
        test.query_params[key] = value
    test.session_state["fold:look.arithmetic"] = True
    test.session_state["look.cell"] = {"near": True}  # what the browser says when the arithmetic is in view
    test.run()
    assert not test.exception
    return test


def packets(test: AppTest, *fields: str) -> list[bytes]:
    sent = [element.proto.bytes for element in test.get("bidi_component") if element.proto.bytes]
    return [packet for packet in sent if all(field in opened(packet)[0] for field in fields)]


@pytest.mark.quick(2)
def test_the_picture_is_the_alignment_of_the_run_or_says_that_there_is_none(model):
    test = look(view="full")
    said = "\n".join(str(element.value) for element in test.text)
    if model.name == "none":
        assert "no attention" in said and not packets(test, "layout")
        return
    wanted = model.run(TEXT, target="Ella tiene un auto.").attention("alignment", by="word", writing=True)
    (packet,) = packets(test, "layout", "words")
    assert opened(packet)[0]["layout"] == "two" and opened(packet)[0]["keys"] == list(wanted.keys)
    np.testing.assert_allclose(unpacked(packet, page=packets(test)), wanted.weights[0, 0], atol=1e-6)
    table = next(
        frame.value
        for frame in test.dataframe
        if "weight" in frame.value.columns and "exp(s − max)" in frame.value.columns
    )
    assert ("Gaussian" in table.columns) == (model.name == "luong-local-p") and "q · k" not in table.columns
    page = packets(test)
    (cell,) = packets(test, "cell", "residue")
    steps = [line["name"] for line in json.loads(carried(*page)[opened(cell)[0]["lines"]])]
    assert "weight" in steps and ("gaussian" in steps) == (model.name == "luong-local-p")


def test_the_arithmetic_ends_at_the_weight_of_the_run(model):
    run = model.run(TEXT, target="Ella tiene un auto.")
    for kind in run.kinds:
        for query in range(len(run.tokens)):
            row = attention_row(run, kind, 0, 0, query)
            np.testing.assert_allclose(row.weights, run.attention(kind).weights[0, 0, query], atol=1e-5)
            assert row.residue < 1e-5 and row.dots is None
            assert (row.gaussian is None) == (model.name != "luong-local-p")
    assert bool(run.kinds) == (model.name != "none")
