"""Greedy, beam and every filter against transformers' `generate` on tiny random networks of equal weights."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
import torch
from deep import deep, in_turn

from core.checkpoints.foreign import formats
from core.decoding import Beam, Greedy, Sample
from core.decoding.decode import write
from core.decoding.filters import MinP, RepetitionPenalty, Temperature, TopK, TopP
from core.decoding.prompt import Prompt
from core.decoding.stepper import Stepper
from core.maths import softmax
from core.model import Model
from core.models import families

pytestmark = pytest.mark.reference
transformers = pytest.importorskip("transformers")

END, N_VOCAB, N_CTX = 5, 29, 37
PROMPTS = ([7, 11, 3], [2], [19, 4, 23, 8, 13])
BEAMS = ((0, PROMPTS[0]), (4, PROMPTS[1]), (2, PROMPTS[2]))
"""Networks, by their seed, and what each goes on from."""


class Numbers:
    """Return a tokenizer whose tokens are numbers."""

    start = pad = 0
    end = END

    def token(self, index):
        return f" {index}"

    def decode(self, ids):
        return "".join(map(self.token, ids))


@cache
def pair(seed, std=0.4, ending=0.0):
    """Return our network and the library's with the same weights; `ending` is added to the logit of END."""
    torch.manual_seed(seed)
    family = families()["gpt"]
    cfg = replace(family.config.tiny(), n_vocab=N_VOCAB, n_ctx=N_CTX)
    ours = family.network(cfg)
    for weight in ours.parameters():
        torch.nn.init.normal_(weight, std=std)
    row = ours.embed["token"].weight[END].detach()
    ours.final_norm.bias.data += ending * row / row.square().sum()
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=N_VOCAB,
            n_positions=N_CTX,
            n_embd=cfg.d_model,
            n_layer=cfg.n_layers,
            n_head=cfg.n_heads,
            n_inner=cfg.d_ff,
            bos_token_id=0,
            eos_token_id=END,
            pad_token_id=0,
            attn_implementation="eager",
        )
    ).eval()
    form, state = formats()["gpt2"], ours.state_dict()
    stored = {form.full(take.name): take.to_stored(state) for take in form.takes(cfg)}
    theirs.load_state_dict(stored, strict=False)
    theirs.tie_weights()
    return Model("tiny", family, cfg, ours, Numbers()), theirs


def ours(m, ids, strategy, n=15):
    prompt = Prompt(tuple(ids), m.tokenizer, N_CTX, end=END)
    return list(write(Stepper(m, prompt), prompt, strategy, n, {}))


def theirs(network, ids, n=15, **options):
    given = torch.tensor([ids])
    return network.generate(
        given,
        attention_mask=torch.ones_like(given),
        max_new_tokens=n,
        return_dict_in_generate=True,
        output_logits=True,
        output_scores=True,
        output_attentions=True,
        **options,
    )


@pytest.mark.parametrize(("seed", "ids"), in_turn(range(3), PROMPTS))
def test_greedy_writes_the_same_with_the_same_logits_and_attention(seed, ids):
    m, network = pair(seed)
    steps, want = ours(m, ids, Greedy()), theirs(network, ids, do_sample=False)
    assert list(steps[-1].ids) == want.sequences[0, len(ids) :].tolist()
    for step, logits, layers in zip(steps, want.logits, want.attentions, strict=True):
        np.testing.assert_allclose(
            [c.logit for c in step.candidates], logits[0, [c.id for c in step.candidates]], atol=2e-4
        )
        patterns = np.stack([layer[0, :, -1].numpy() for layer in layers])
        np.testing.assert_allclose(step.attention["causal"], patterns, atol=1e-5)


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("penalty", deep([0.0, 0.6, 1.0, 2.0, -0.5], {0.6}))
@pytest.mark.parametrize("width", deep([1, 2, 4], {2, 4}))
def test_beam_finds_the_same_with_the_same_score(width, penalty, early):
    for seed, ids in BEAMS:
        m, network = pair(seed, std=0.25, ending=1.3)
        last = ours(m, ids, Beam(width, penalty, early))[-1]
        options = {"num_beams": width, "do_sample": False}
        if width > 1:
            options |= {"length_penalty": penalty, "early_stopping": early}
        want = theirs(network, ids, **options)
        found = list(last.ids)
        assert found == want.sequences[0, len(ids) :].tolist()
        if width > 1:
            assert last.tree.finished[0][1] == pytest.approx(want.sequences_scores.item(), abs=1e-4)


@pytest.mark.quick(8)
@pytest.mark.parametrize(
    "knobs",
    [
        {"temperature": 0.7},
        {"temperature": 1.9},
        {"top_k": 1},
        {"top_k": 6},
        {"top_k": 500},
        {"top_p": 0.9},
        {"top_p": 0.3},
        {"top_p": 0.0},
        {"temperature": 0.6, "top_k": 9, "top_p": 0.8},
        {"temperature": 2.5, "top_k": 3, "top_p": 0.95},
        {"min_p": 0.1},
        {"min_p": 1.0},
        {"repetition_penalty": 1.3},
        {"repetition_penalty": 0.5},
        {"temperature": 1.4, "min_p": 0.2},
        {"temperature": 1.6, "top_k": 12, "top_p": 0.9, "min_p": 0.08, "repetition_penalty": 1.7},
    ],
)
def test_filters_leave_the_same_distribution(knobs):
    m, network = pair(1)
    step = ours(m, PROMPTS[2], Sample(seed=3, **knobs))[0]
    options = {"temperature": 1.0, "top_k": 0, "top_p": 1.0} | knobs
    want = softmax(theirs(network, PROMPTS[2], n=1, do_sample=True, **options).scores[0][0].double().numpy())
    np.testing.assert_allclose(
        [c.after for c in step.candidates], want[[c.id for c in step.candidates]], atol=1e-6
    )
    assert step.n_kept == (want > 0).sum()
    assert step.n_kept + sum(cut.tokens for cut in step.cuts) == N_VOCAB


@pytest.mark.parametrize(
    ("penalty", "ids"), deep(product((0.7, 1.1, 1.5, 4.0), PROMPTS), [(1.1, PROMPTS[0])])
)
def test_greedy_with_a_repetition_penalty_writes_the_same(penalty, ids):
    plain = 0
    for seed in range(4):
        m, network = pair(seed)
        steps = ours(m, ids, Sample(temperature=0, repetition_penalty=penalty))
        want = theirs(network, ids, do_sample=False, repetition_penalty=penalty)
        assert list(steps[-1].ids) == want.sequences[0, len(ids) :].tolist()
        for step, scores in zip(steps, want.scores, strict=True):
            listed = [c.id for c in step.candidates]
            np.testing.assert_allclose([c.scores[0] for c in step.candidates], scores[0, listed], atol=1e-3)
            assert step.chosen_by == "argmax"
        plain += steps[-1].ids == ours(m, ids, Greedy())[-1].ids
    assert plain < 4


PROCESSORS = [
    (Temperature(0.6), "TemperatureLogitsWarper", 0.6),
    (Temperature(2.3), "TemperatureLogitsWarper", 2.3),
    (TopK(1), "TopKLogitsWarper", 1),
    (TopK(13), "TopKLogitsWarper", 13),
    (TopP(0.37), "TopPLogitsWarper", 0.37),
    (TopP(0.93), "TopPLogitsWarper", 0.93),
    (MinP(0.013), "MinPLogitsWarper", 0.013),
    (MinP(0.31), "MinPLogitsWarper", 0.31),
    (MinP(1.0), "MinPLogitsWarper", 1.0),
    (RepetitionPenalty(0.4), "RepetitionPenaltyLogitsProcessor", 0.4),
    (RepetitionPenalty(1.2), "RepetitionPenaltyLogitsProcessor", 1.2),
    (RepetitionPenalty(9.0), "RepetitionPenaltyLogitsProcessor", 9.0),
]


@pytest.mark.parametrize(("filtering", "name", "value"), PROCESSORS, ids=lambda case: str(case))
def test_each_filter_is_the_librarys_processor(filtering, name, value):
    draw = np.random.default_rng(5)
    processor = getattr(transformers, name, None) or getattr(transformers.generation, name)
    for _ in range(40):
        logits, ids = (
            draw.normal(size=53) * draw.uniform(0.2, 6),
            draw.integers(53, size=draw.integers(1, 31)),
        )
        logits[draw.integers(53, size=5)] = -np.inf
        found = filtering(logits, ids.tolist())
        want = processor(value)(torch.tensor(ids)[None], torch.tensor(logits)[None])[0].numpy()
        np.testing.assert_allclose(softmax(found), softmax(want), atol=1e-12)
        assert (np.isneginf(found) == np.isneginf(want)).all()
