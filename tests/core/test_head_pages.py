"""The numbers of shipped head pages recomputed by plain loops over single runs: ten heads drawn by seed over several kinds of models, and what heads write."""

from __future__ import annotations

import functools
import math
import random

import numpy as np
import pytest

import core
from core.analysis.heads import corpus as heads
from core.analysis.heads import corpus_writes
from core.analysis.heads.corpus_file import shipped_corpus
from core.edits import ZeroHead
from core.training.recipe import recipes

OWN_TASK = (
    "induction-tiny",
    "prompt-tiny",
    "snail-recall",
    "snail-recall-attention",
    "vit-doodles",
    "mae-doodles",
    "captioner",
    "speller",
    "copy-gru-attention",
    "copy-rnn-attention",
)
"""Models whose passages are in the project: a push recomputes heads of five of them, the long run more."""
OFFSETS = {"previous": -1, "itself": 0}


@functools.cache
def model_and_runs(name):
    model = core.open_model(name)
    keep = heads.KEEP
    examples = list(recipes()[name].examples())
    targets = [one.target if model.spec.has_source else None for one in examples]
    return (
        model,
        examples,
        [
            model.run(one.text, **({"target": target} if model.spec.has_source else {}), keep=keep)
            for one, target in zip(examples, targets, strict=True)
        ],
    )


def strongest_of(read, layer, head, *, one_text):
    """Return the largest weight that counts in a run, its query and its key; None where no row has enough keys."""
    best = None
    weights, specials = read.weights[layer, head], read.special_positions
    allowed = read.allowed[min(layer, read.allowed.shape[0] - 1), min(head, read.allowed.shape[1] - 1)]
    for query in read.rows:
        if query in specials[0]:
            continue
        keys = [
            key
            for key in range(weights.shape[1])
            if allowed[query, key] and key not in specials[1] and not (one_text and key in (0, query))
        ]
        if len(keys) >= heads.MIN_KEYS:
            key = max(keys, key=weights[query].__getitem__)
            if best is None or weights[query, key] > best[0]:
                best = float(weights[query, key]), query, key
    return best


def by_hand(weights, allowed):
    """Return the measures of one pattern that need no list of words."""
    n, entropy, far = len(weights), [], 0.0
    for query in range(n):
        row = [float(weight) for weight in weights[query]]
        far += sum(weight * abs(query - key) for key, weight in enumerate(row)) / n
        places = int(allowed[query].sum())
        if places > 1:
            entropy.append(-sum(w * math.log(w) for w in row if w > 0) / math.log(places))
    found = {"spread": np.mean(entropy), heads.DISTANCE: far}
    rows = range(min(2, n - 1), n)
    for name, offset in OFFSETS.items():
        found[name] = np.mean([weights[query, query + offset] for query in rows])
    return found


def check_head(name, kind, layer, head, *, effect=True):
    model, examples, runs = model_and_runs(name)
    shipped = shipped_corpus(name)
    assert shipped is not None and shipped.n == len(examples)
    page, found = shipped.kinds[kind], model.spec.kind(kind)
    writing = not found.one_text and not found.has_learned_queries
    each, measured = {}, {}
    for number, run in enumerate(runs):
        read = run.attention(kind, writing=writing)
        best = strongest_of(read, layer, head, one_text=found.one_text)
        if best:
            each[number] = best
        rows = list(read.rows)
        allowed = np.broadcast_to(read.allowed, read.weights.shape)[layer, head][rows]
        measured[number] = by_hand(read.weights[layer, head][rows], allowed) if found.one_text else {}
    order = sorted(each, key=lambda number: -each[number][0])
    for rows, wanted in (
        (page.strongest[layer][head], order[: heads.STRONGEST]),
        (page.deciles[layer][head], heads.middle_of_tenths(order)),
    ):
        assert len(rows) == len(wanted)
        for row, number in zip(rows, wanted, strict=True):  # passages with equal weights may change places
            assert row.weight == pytest.approx(each[number][0], abs=1.5e-3)
            assert row.weight == pytest.approx(each[row.passage][0], abs=1.5e-3)
    scores = {heads.STRONGEST_WEIGHT: [each[number][0] for number in each]}
    for measure in page.measures.keys() & measured[0].keys():
        scores[measure] = [one[measure] for one in measured.values()]
    for measure, values in scores.items():
        wanted = [np.mean(values), *np.quantile(values, heads.QUANTILES)] if values else [np.nan] * 6
        assert page.measures[measure][layer, head] == pytest.approx(wanted, abs=2e-3, nan_ok=True), measure
    if effect and page.effect is not None:
        edit = ZeroHead(found.path(layer, ZeroHead.leaf), head)
        growth = [loss(name, text, edit) - loss(name, text) for text in (one.text for one in examples)]
        assert page.effect[layer, head] == pytest.approx(np.mean(growth), abs=2e-4)


@functools.cache
def loss(name, text, *edits):
    """Return the mean -log p of the tokens of a text after the first, in nats."""
    run = model_and_runs(name)[0].run(text, edits=edits, keep=())
    total = 0.0
    for place in range(len(run.ids) - 1):
        row = run.logits[place].astype(np.float64)
        total += np.log(np.exp(row - row.max()).sum()) + row.max() - row[run.ids[place + 1]]
    return total / (len(run.ids) - 1)


def heads_of(names):
    return [
        (name, kind, layer, head)
        for name in names
        for kind, one in shipped_corpus(name).kinds.items()
        for layer, head in np.ndindex(*one.shape)
    ]


def test_heads_drawn_by_seed_have_the_numbers_of_their_pages():
    chance = random.Random(47)
    names = OWN_TASK[::2]
    drawn = [chance.choice(heads_of([name])) for name in names]
    assert len(drawn) == 5
    for place in drawn:
        check_head(*place, effect=place[0] == "induction-tiny")


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN_TASK)
def test_all_heads_of_a_model_have_the_numbers_of_their_pages(name):
    for place in heads_of([name]):
        check_head(*place)


def test_what_a_head_writes_is_its_value_through_the_weights(monkeypatch):
    monkeypatch.setattr(corpus_writes, "DIGITS", 6)
    name, layer, head = "induction-tiny", 1, 1
    model, examples, _ = model_and_runs(name)
    shipped = shipped_corpus(name)
    assert shipped is not None
    page = shipped.kinds["causal"]
    rows = page.strongest[layer][head]
    block, size = model.network.layers[layer], model.config.d_head
    part = slice(head * size, (head + 1) * size)

    def weight(module, name="weight"):
        return getattr(module, name).detach().double().numpy()

    each = []
    for row in rows:
        run = model.run(examples[row.passage].text)
        x = run.trace[f"layer.{layer}.resid_in"][row.key].astype(np.float64)
        x = (x - x.mean()) / math.sqrt(x.var() + block.norm1.eps) * weight(block.norm1) + weight(
            block.norm1, "bias"
        )
        value = weight(block.self_attn.to_v)[part] @ x + weight(block.self_attn.to_v, "bias")[part]
        wrote = weight(block.self_attn.to_out)[:, part] @ value
        stream = run.trace[f"layer.{layer}.resid_out"][row.query].astype(np.float64)
        norm = model.network.final_norm
        normed = (wrote - wrote.mean()) / math.sqrt(stream.var() + norm.eps) * weight(norm)
        gives = float(run.trace[f"layer.{layer}.self_attn.pattern"][head, row.query, row.key])
        each.append(gives * (weight(model.network.embed["token"]) @ normed))
    found = corpus_writes.head_writes(model, examples, "causal", page, layer, head)
    names = [model.tokenizer.token(token) for token in range(len(each[0]))]
    mean = np.mean(each, axis=0)
    for words, order in ((found.raised, np.argsort(-mean)), (found.lowered, np.argsort(mean))):
        assert [one.word for one in words] == [names[token] for token in order[: corpus_writes.WORDS]]
        assert [one.added for one in words] == pytest.approx(mean[order[: corpus_writes.WORDS]], abs=1e-4)
    for words, added in zip(found.rows, each, strict=True):
        assert words[0].added == pytest.approx(added.max(), abs=1e-4)
        assert words[0].word == names[int(added.argmax())]
    assert page.writes is not None
    for stored, computed in zip(page.writes[layer][head].raised, found.raised, strict=True):
        assert stored.word == computed.word and stored.added == pytest.approx(computed.added, abs=1e-3)
    assert page.writes[layer][head].copies == found.copies
