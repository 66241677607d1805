"""Folders of every kind give the numbers of the transformers library: alone, in a padded batch, written on, and written back."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from deep import deep
from kinds import CASES, ENCODES, TWO, WRITES, Case
from parity import SAME, redraw
from safetensors.torch import load_file
from tokenizers import processors

from core.analysis.arithmetic.cell import attention_row, cell_arithmetic
from core.analysis.attention.lenses import log_denominators
from core.analysis.attribution.logit_attribution import attribute
from core.analysis.attribution.target_token import OutputTarget
from core.checkpoints import open_model
from core.checkpoints.foreign import formats
from core.decoding import decode
from core.text.learn import learn_byte_level_bpe, learn_wordpiece
from core.tools import export

TEXT, SHORT, TARGET = "The animal didn't cross the street.", "She has a white car.", "Ella tiene un coche."
LINES = [TEXT, SHORT, TARGET, "Once upon a time"] * 3
OWN = 20
"""Texts of a random model that are written on."""


def bpe():
    return learn_byte_level_bpe(LINES, 277, ["<|endoftext|>"])


def pieces():
    return learn_wordpiece(LINES, 97)


def ending():
    backend = learn_byte_level_bpe(LINES, 277, ["<s>", "</s>", "<pad>"])
    ends = processors.TemplateProcessing(single="$A </s>", pair="$A $B", special_tokens=[("</s>", 1)])
    backend.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), ends])
    return backend


ALIKE = (
    *("mistral", "qwen2", "phi3", "granite", "helium", "stablelm", "smollm3", "starcoder2", "phi"),
    *("qwen3", "gemma", "gpt_neox", "gpt1", "mpt", "mixtral", "qwen3_moe", "olmoe"),
    *("bert", "roberta", "xlm-roberta", "camembert", "electra", "distilbert", "big_bird", "nomic_bert"),
    *("bart", "pegasus", "m2m_100", "mt5", "flan-t5", "mt5 encoder"),
)
"""Kinds of which nothing is new beside the others of the quick run: their equations are those of another one there, or
have a file of their own (`test_kinds_own.py`, `test_folders_read.py`, `test_encoders_read.py`)."""


MADE = {"decoder": bpe(), "encoder": pieces(), "two": ending(), "ending": ending()}


def side_of(case: Case) -> str:
    """Return whether a row is an encoder, a decoder, both, or an encoder whose texts end with a mark."""
    if case.auto in (TWO, ENCODES):
        return "two" if case.auto is TWO else "ending"
    return "decoder" if case.auto is WRITES or case.values.get("eos_token_id") == 0 else "encoder"


def saved(case: Case, folder):
    """Return a random model of a row, and save its folder with a tokenizer; what is computed and not learned stays."""
    backend = MADE[side_of(case)]
    model = case.model(backend.get_vocab_size() + 9)
    fixed = {name: value.clone() for name, value in model.state_dict().items() if "embed_positions" in name}
    redraw(model)
    if model.config.model_type in ("marian", "pegasus"):
        model.load_state_dict(fixed, strict=False)
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias.normal_(generator=torch.Generator().manual_seed(1))
    model.save_pretrained(folder)
    backend.save(str(folder / "tokenizer.json"))
    return model


OUTPUTS = {
    "logits": ("logits", "prediction_logits"),
    "pooled": ("pooler_output",),
    "next_sentence": ("seq_relationship_logits",),
    "sentence_order": ("sop_logits",),
}
"""What the library calls each output."""


def gap(ours, theirs) -> float:
    assert ours.shape == theirs.shape
    return float(np.abs(ours - theirs.numpy()).max())


def agree(opened, model, runs):
    """Compare every state, pattern and score of runs with the library's, of each text alone and without padding."""
    shown = model.config._attn_implementation == "eager"
    for run in runs:
        n, ids = run.side.n_real, torch.tensor([run.side.ids[: run.side.n_real]])
        source = {"token_type_ids": torch.tensor([run.side.segments[:n]])} if parted(opened) else {}
        if run.source is not None:
            source = {"decoder_input_ids": ids}
            ids = torch.tensor([run.source.ids[: run.source.n_real]])
        with torch.no_grad():
            out = model(ids, output_attentions=shown, output_hidden_states=True, **source)
        if run.source is None:
            stack = "encoder." if "encoder.embed.out" in run.trace else ""
            _same_stack(run, stack, out.hidden_states, n)
            if shown:
                assert gap(run.attention().weights[:, :, :n, :n], torch.cat(out.attentions)) <= SAME
        else:
            m = run.source.n_real
            _same_stack(run, "encoder.", out.encoder_hidden_states, m)
            _same_stack(run, "decoder.", out.decoder_hidden_states, n)
            patterns = out.encoder_attentions, out.decoder_attentions, out.cross_attentions
            for kind, pattern, rows, keys in zip(
                ("self", "causal", "cross"), patterns, (m, n, n), (m, n, m), strict=True
            ):
                assert gap(run.attention(kind).weights[:, :, :rows, :keys], torch.cat(pattern)) <= SAME, kind
        for name in opened.outputs:
            theirs = next((out[each] for each in OUTPUTS.get(name, ()) if each in out), None)
            if theirs is not None:
                ours = getattr(run, name)
                assert gap(ours[:n] if name == "logits" else ours, theirs[0]) <= SAME, name


def _same_stack(run, side, states, n):
    for i, state in enumerate(states):
        path = f"{side}layer.{i - 1}.resid_out" if i else f"{side}embed.out"
        last = i == len(states) - 1 and f"{side}final_norm.out" in run.trace
        ours = run.trace[f"{side}final_norm.out" if last else path][:n]
        assert gap(ours, state[0]) <= SAME, (path, last)


def parted(opened) -> bool:
    """Return whether a model tells two texts apart by segments."""
    return getattr(opened.config, "n_segments", 0) > 1 and not getattr(opened.config, "two_ends", False)


def runs_of(opened, side):
    """Return runs of one text alone, and of a batch of which one text is padded."""
    targets = {"targets": [TARGET, "Ella."]} if side == "two" else {}
    batch = opened.run_many([TEXT, SHORT], **targets)
    assert batch[1].side.n_real < len(batch[1].side.ids)
    pair = [opened.run(TEXT, pair=SHORT)] if parted(opened) else []
    return [opened.run(TEXT, **({"target": TARGET} if side == "two" else {})), *pair, *batch]


def open_and_compare(folder, model, side="encoder"):
    """Return a folder's model, whose numbers are those of the library's model."""
    opened = open_model(folder)
    agree(opened, model, runs_of(opened, side))
    return opened


@pytest.mark.parametrize("name", deep(CASES, lambda name: "," not in name and name not in ALIKE))
def test_a_folder_gives_the_numbers_of_the_library_and_is_written(name, case_of, tmp_path):
    case = CASES[name]
    side, (folder, model) = side_of(case), case_of(name)
    opened = open_model(folder)
    runs = runs_of(opened, side)
    agree(opened, model, runs)
    if side != "two":  # Marian's sines and the bias of a translator's words are no parameters there
        stored = load_file(folder / "model.safetensors")
        twice = opened.config.n_vocab if "cls.predictions.decoder.bias" in stored else 0
        form = formats()[model.config.model_type]
        learned = sum(
            weight.numel()
            for name, weight in model.named_parameters()
            if not form.ignored_pattern.fullmatch(form.plain(name)) or "position" in name
        )
        assert opened.n_parameters in (learned, learned - twice)
    if case.auto is ENCODES:
        assert not opened.outputs and "no output layer" in opened.lacks("answer") and not opened.can("write")
    for kind in (each.name for each in opened.spec.kinds):
        row, lines = attention_row(runs[0], kind, 0, 0, 3), cell_arithmetic(runs[0], kind, 0, 0, 3, 1)
        assert row.residue < 1e-4 and lines.residue < 1e-3
    if side == "decoder" and "logits" in opened.outputs:
        ids = torch.tensor([opened.run(SHORT).ids])
        with torch.no_grad():
            theirs = model.generate(ids, max_new_tokens=6, do_sample=False, eos_token_id=None, pad_token_id=0)
        ours = [step.id for step in decode(opened, SHORT, max_new_tokens=6)]
        assert ours == theirs[0, ids.shape[1] :].tolist()[: len(ours)] and len(ours) > 2
    if side != "two" and "logits" in opened.outputs:
        shares = attribute(runs[0], OutputTarget(3, 7, 9))
        assert shares.total == pytest.approx(shares.logit, abs=1e-3)
        assert log_denominators(runs[0], opened.spec.kinds[0].name, 0, 0) is not None

    out = export.export_model(opened, tmp_path / "out")
    again = open_model(out)
    assert again.config == opened.config
    loaded, info = case.auto.from_pretrained(out, attn_implementation=case.how, output_loading_info=True)
    computed = re.compile(
        r".*((pooler|embed_positions|contact_head)\..*|inv_freq)"
    )  # made anew there: of no use, or sines
    assert not info["unexpected_keys"] and all(map(computed.fullmatch, info["missing_keys"]))
    agree(again, loaded.eval(), runs_of(again, side)[:1])
