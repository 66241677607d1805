"""Several tokens that end a text, in config.json, generation_config.json or both: each ends what a model writes, as in the library."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from parity import variant

import core
from core.analysis.loops import unfinished_note
from core.checkpoints import open_model
from core.decoding import Beam, Greedy

TEXT = "She has a white car."


@pytest.fixture(scope="module")
def llama(case_of, tmp_path_factory):
    folder, model = case_of("llama")
    return variant(folder, tmp_path_factory.mktemp("ends")), model


def set_ends(folder, config, generation):
    for name, ends in (("config.json", config), ("generation_config.json", generation)):
        path = folder / name
        values = json.loads(path.read_text()) if path.exists() else {}
        values.pop("eos_token_id", None)
        path.write_text(json.dumps(values | ({} if ends is None else {"eos_token_id": ends})))


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("config", "generation", "ends"),
    [
        ([7, 9], None, {7, 9}),
        (7, [7, 9], {7, 9}),
        (7, 9, {7, 9}),
        (None, [9, 11, 7], {7, 9, 11}),
        (7, None, {7}),
        ([9, 7, 9], [7], {7, 9}),
        ([9, 9999], [-1, "x"], {9}),
    ],
)
def test_each_end_ends_a_text(llama, config, generation, ends):
    folder, _ = llama
    set_ends(folder, config, generation)
    model = open_model(folder)
    for token in (7, 9, 11, 12):
        steps = list(core.decode(model, "She has", max_new_tokens=3, force=[(0, token)]))
        assert (len(steps), steps[-1].reason) == ((1, "end") if token in ends else (3, "limit"))
        assert (steps[0].token == "END") == (token in ends)
        if token in ends:
            assert steps[0].text == "She has"
    forced = list(core.decode(model, "She has", Beam(width=2), max_new_tokens=3, force=[(0, min(ends))]))
    assert forced[-1].reason == "end"


def test_it_writes_what_the_library_writes(llama):
    folder, model = llama
    set_ends(folder, 7, [7, 9])
    opened = open_model(folder)
    ids = list(opened.tokenizer.encode("She has").ids)
    with torch.inference_mode():
        theirs = model.generate(
            torch.tensor([ids]), eos_token_id=[7, 9], max_new_tokens=6, do_sample=False, pad_token_id=2
        )[0].tolist()
    steps = list(core.decode(opened, "She has", Greedy(), max_new_tokens=6))
    assert list(steps[-1].ids) == theirs[len(ids) :]


@pytest.mark.quick(1)
@pytest.mark.parametrize("place", [0, 3])
def test_a_translation_ends_at_each_of_its_ends(place):
    model = core.open_model("translator-en-es")
    written = model.run(TEXT).ids[1:]
    shorter = replace(model, ends=(written[place],))
    assert shorter.run(TEXT).ids[1:] == written[:place]
    *_, last = core.decode(shorter, TEXT)
    assert (last.ids, last.reason) == (written[: place + 1], "end")
    assert not unfinished_note(shorter.run(TEXT))
