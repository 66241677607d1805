"""What a folder's configuration says is never written is not, whatever the scores: as `generate` of the transformers library."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
import torch
from kinds import STACKS
from parity import variant
from test_kinds_parity import MADE
from transformers import MarianConfig, MarianMTModel

from core import decode
from core.checkpoints import open_model
from core.decoding import Beam, Greedy, Sample
from core.decoding.beam_hypothesis import hypothesis_steps
from core.decoding.prompt import prompt_of
from core.errors import InputError
from core.tools.export import export_model

TEXT, PAD, END, N = "She has a white car.", 2, 1, 9
PAIR = [30, 40]


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    """Return a random translator that would write padding, then one word, then a pair that is barred too."""
    backend = MADE["two"]
    torch.manual_seed(3)
    config = MarianConfig(**{**STACKS, "vocab_size": backend.get_vocab_size(), "forced_eos_token_id": END})
    model = MarianMTModel(config).eval()
    for name, weight in model.named_parameters():
        if "embed_positions" not in name:
            torch.nn.init.normal_(weight, std=0.4)
    model.final_logits_bias[0, [PAD, *PAIR]] = torch.tensor([60.0, 25.0, 24.0])
    model.generation_config.update(bad_words_ids=[[PAD], PAIR, [END]], num_beams=4, max_length=40)
    folder = tmp_path_factory.mktemp("never") / "model"
    model.save_pretrained(folder)
    backend.save(str(folder / "tokenizer.json"))
    return folder, model


@torch.inference_mode()
def theirs(model, ids, **options):
    options = {"do_sample": False, "max_new_tokens": N, "forced_eos_token_id": None, **options}
    found = model.generate(
        torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long), **options
    )
    return found[0, 1:].tolist()


def test_greedy_and_beam_write_what_generate_writes(translator):
    folder, model = translator
    ours = open_model(folder)
    assert ours.bad_words == ((PAD,), tuple(PAIR))
    ids = ours.run(TEXT, target="x").source.ids
    greedy = list(decode(ours, TEXT, Greedy(), max_new_tokens=N))
    assert list(greedy[-1].ids) == theirs(model, ids, num_beams=1) and PAIR[0] in greedy[-1].ids
    for step in greedy:
        best = step.candidates[0]
        assert best.id == PAD and best.before > 0.99 and best.after == 0 and best.cut_by == "not_allowed"
        assert [cut.tokens for cut in step.cuts] == [2 if step.ids[:-1][-1:] == (PAIR[0],) else 1]
    beam = list(decode(ours, TEXT, Beam(width=4, early_stopping=False), max_new_tokens=N))
    options = {"num_beams": 4, "early_stopping": False, "length_penalty": 1.0}
    assert list(beam[-1].ids) == theirs(model, ids, **options)
    text = hypothesis_steps(beam, beam[-1].tree.best, prompt_of(ours, TEXT))
    for step in text:
        assert (
            step.candidates[0].cut_by == "not_allowed"
            and step.chosen_candidate.after > step.chosen_candidate.before
        )
        assert sum(each.after for each in step.candidates) <= 1 + 1e-6
    free = open_model(folder)
    object.__setattr__(free, "bad_words", ())
    assert {step.id for step in decode(free, TEXT, Greedy(), max_new_tokens=3)} == {PAD}


def test_neither_drawn_nor_written_by_a_run_of_its_own(translator):
    ours = open_model(translator[0])
    drawn = [
        [step.id for step in decode(ours, TEXT, Sample(2.0, seed=seed), max_new_tokens=N)]
        for seed in range(5)
    ]
    run = ours.run(TEXT)
    for ids in (*drawn, list(run.ids[1:])):
        assert PAD not in ids and tuple(PAIR) not in pairwise(ids)
    assert list(run.ids[1 : N + 1]) == [step.id for step in decode(ours, TEXT, max_new_tokens=N)]


def test_it_is_written_with_the_model(translator, tmp_path):
    ours = open_model(translator[0])
    folder = export_model(ours, tmp_path / "out")
    assert open_model(folder).bad_words == ours.bad_words
    model = MarianMTModel.from_pretrained(folder).eval()
    assert model.generation_config.bad_words_ids == [[PAD], PAIR]
    ids = ours.run(TEXT, target="x").source.ids
    greedy = list(decode(ours, TEXT, Greedy(), max_new_tokens=N))
    assert list(greedy[-1].ids) == theirs(model, ids)


def test_it_stands_in_either_file_and_is_judged(translator, tmp_path):
    generation = json.loads((translator[0] / "generation_config.json").read_text())
    folder = variant(translator[0], tmp_path)
    (folder / "generation_config.json").unlink()
    assert open_model(folder).bad_words == ()
    config = json.loads((folder / "config.json").read_text()) | {"bad_words_ids": [[PAD]]}
    (folder / "config.json").write_text(json.dumps(config))
    assert open_model(folder).bad_words == ((PAD,),)
    for wrong in (
        [PAD],
        [[]],
        [["<pad>"]],
        [[10**6]],
        "<pad>",
        {"a": 1},
        [[i] for i in range(config["vocab_size"])],
    ):
        (folder / "generation_config.json").write_text(json.dumps(generation | {"bad_words_ids": wrong}))
        with pytest.raises(InputError, match="bad_words_ids"):
            open_model(folder)
