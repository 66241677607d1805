"""A tokenizer whose post-processor puts a mark before every text: the model sees it, in a run and when it goes on."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
import transformers as hf
from deep import deep
from kinds import CASES, LLAMA, STACKS
from parity import SAME, redraw, variant
from test_kinds_parity import MADE, saved
from tokenizers import Tokenizer, processors
from transformers import LlamaConfig, LlamaForCausalLM, MarianConfig, MarianMTModel

import core
from core.analysis.loops import unfinished_note
from core.checkpoints import open_model
from core.checkpoints.load import GENERATION
from core.checkpoints.wrapped import wrap
from core.decoding import Beam, Greedy, Sample, decode
from core.decoding.beam_hypothesis import hypothesis_steps
from core.decoding.prompt import fit_prompt, prompt_of
from core.errors import InputError
from core.reading import bounds
from core.text.learn import learn_byte_level_bpe
from core.tools import export
from core.tools.export import export_model

TEXT, SHORT = "She has a white car.", "Once upon a time"
BOS = "<|begin_of_text|>"


@pytest.fixture(scope="module")
def marked_llama(tmp_path_factory):
    """Return a random Llama, its library model, and a tokenizer made like Llama 3's."""
    backend = learn_byte_level_bpe([TEXT, SHORT] * 3, 277, [BOS, "<|end_of_text|>"])
    opens = processors.TemplateProcessing(
        single=f"{BOS} $A", pair=f"{BOS} $A {BOS} $B", special_tokens=[(BOS, 0)]
    )
    backend.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), opens])
    sizes = {
        **LLAMA,
        "vocab_size": backend.get_vocab_size(),
        "max_position_embeddings": 31,
        "eos_token_id": 1,
    }
    model = redraw(LlamaForCausalLM(LlamaConfig(**sizes)))
    folder = tmp_path_factory.mktemp("marked_llama") / "model"
    model.save_pretrained(folder)
    backend.save(str(folder / "tokenizer.json"))
    return open_model(folder), model, backend


def test_the_model_sees_what_the_library_gives_it(marked_llama):
    opened, model, backend = marked_llama
    run = opened.run(TEXT)
    ids = backend.encode(TEXT).ids
    assert list(run.ids) == ids and ids[0] == 0
    with torch.no_grad():
        assert np.abs(run.logits - model(torch.tensor([ids])).logits[0].numpy()).max() <= SAME
    first, second = run.spans[:2]
    assert (run.tokens[0], first, TEXT[slice(*second)]) == (BOS, None, "Sh")
    batch = opened.run_many([TEXT, SHORT])
    assert [one.ids[0] for one in batch] == [0, 0]


def test_it_goes_on_behind_the_same_tokens(marked_llama):
    opened, _, backend = marked_llama
    prompt = prompt_of(opened, TEXT)
    assert list(prompt.ids) == backend.encode(TEXT).ids and prompt.hidden == 1
    assert prompt.text(())[0] == TEXT and prompt.labels(())[0] == "START"
    assert prompt_of(opened, "").ids == (0,)


def test_a_mark_that_is_typed_is_not_put_twice(marked_llama):
    opened, _, _ = marked_llama
    once = opened.run(BOS + TEXT, special=True).ids
    assert once == opened.run(TEXT).ids
    assert opened.run(BOS + TEXT).ids[0] == 0 and len(opened.run(BOS).ids) > 2, "as letters it is a text"


def test_the_mark_takes_room(marked_llama):
    opened, _, _ = marked_llama
    word = opened.tokenizer.encode(" car").ids
    assert opened.tokenizer.frame_ids == ((0,), ()) and len(word) == 1
    with pytest.raises(InputError, match="32 tokens"):
        opened.run("She" + " car" * 30 if len(opened.tokenizer.encode("She").ids) == 1 else " car" * 31)
    window = fit_prompt(opened, " car" * 40, opened.config.n_ctx)
    assert window.tokens == 30 and len(opened.run(window.text).ids) == 31


def test_spans_are_trimmed_whatever_stands_beside_the_mark(marked_llama, tmp_path):
    """Take the step that trims out of the file: the space before a word still belongs to no token."""
    from core.checkpoints.tokenizer import try_in_child

    held = json.loads(marked_llama[2].to_str())
    held["post_processor"] = held["post_processor"]["processors"][1]
    (tmp_path / "tokenizer.json").write_text(json.dumps(held), encoding="utf-8")
    facts = try_in_child([tmp_path / "tokenizer.json"], "tokenizer.json")
    encoding = Tokenizer.from_str(facts["tokenizer"]).encode(TEXT)
    assert encoding.ids[0] == 0
    assert not any(TEXT[a:b].startswith(" ") for a, b in encoding.offsets if b > a)


def test_a_page_counts_the_mark_to_the_context(marked_llama):
    opened, _, _ = marked_llama
    assert bounds.n_special(opened) == 1
    assert bounds.token_limit(opened) == opened.config.n_ctx - 1


# ---------------- Several tokens that end a text, in config.json, generation_config.json or both: each ends what a model writes, as in the library.


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


# ---------------- The target language that a translator's folder names is written first, as the transformers library does.


LANGUAGE, WRITES = 65, 6
"""The number of an ordinary token that a random model would not choose."""


@pytest.mark.parametrize("name", deep(["m2m_100", "mbart"], {"m2m_100"}))
def test_the_target_language_is_written_first(name, tmp_path):
    model = saved(CASES[name], tmp_path / "model")
    model.generation_config.forced_bos_token_id = LANGUAGE
    model.generation_config.save_pretrained(tmp_path / "model")
    opened = open_model(tmp_path / "model")

    def library(**options):
        with torch.no_grad():
            ids = torch.tensor([opened.run(TEXT, target="").source.ids])
            return model.generate(ids, max_new_tokens=WRITES, eos_token_id=1, do_sample=False, **options)[
                0, 1:
            ]

    greedy = library(num_beams=1).tolist()
    steps = list(decode(opened, TEXT, max_new_tokens=WRITES))
    assert [step.id for step in steps] == greedy[: len(steps)] and greedy[0] == LANGUAGE
    assert [step.chosen_by for step in steps] == ["rule", *["argmax"] * (len(steps) - 1)]
    run = opened.run(TEXT)
    assert run.side.ids[: run.side.n_real][1:WRITES] == tuple(greedy)[: len(run.side.ids) - 1][: WRITES - 1]
    assert (
        opened.run(TEXT, target="Ella").side.ids[1] == LANGUAGE
    )  # one that is typed is of the language, too
    for strategy in (Beam(2), Sample(seed=1)):
        *_, last = decode(opened, TEXT, strategy, max_new_tokens=WRITES)
        assert last.ids[0] == LANGUAGE
    begun = list(decode(opened, TEXT, prefix="Ella", max_new_tokens=1))
    assert begun[0].chosen_by == "argmax"
    file = str(tmp_path / "model" / "tokenizer.json")
    fast = hf.PreTrainedTokenizerFast(tokenizer_file=file, eos_token="</s>", pad_token="<pad>")
    assert wrap(model, fast).first == LANGUAGE
    out = export.export_model(opened, tmp_path / "out")
    assert json.loads((out / GENERATION).read_text())["forced_bos_token_id"] == LANGUAGE
    assert open_model(out).first == LANGUAGE


def test_a_first_token_that_is_none_is_passed_over(case_of, tmp_path):
    folder = variant(case_of("m2m_100")[0], tmp_path)
    for odd in (-1, 10**9, "es_XX", [[1]], True):
        (folder / GENERATION).write_text(json.dumps({"forced_bos_token_id": odd}))
        assert open_model(folder).first is None, odd


# ---------------- What a folder's configuration says is never written is not, whatever the scores: as `generate` of the transformers library.


PAD, END, N = 2, 1, 9
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
        assert step.candidates[0].cut_by == "not_allowed"
        assert step.chosen_candidate.after > step.chosen_candidate.before
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
