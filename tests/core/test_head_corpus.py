"""Every head over a corpus: the numbers recomputed in plain loops, for attention in one text and between two; the stored file and what it refuses."""

from __future__ import annotations

import gzip
import json
import math
import time
from dataclasses import replace
from types import SimpleNamespace

import letters_model
import numpy as np
import pytest
from deep import deep

import core
from core.analysis.heads import corpus as heads
from core.analysis.heads import corpus_file, corpus_writes, evidence
from core.analysis.heads.corpus import SHUFFLED, UNTRAINED, head_corpus
from core.analysis.heads.corpus_file import ModelCorpus, Source, read_corpus, shipped_corpus, write_corpus
from core.analysis.heads.corpus_writes import head_writes
from core.checkpoints.manifest import shipped_folder
from core.data.home import assets
from core.data.texts import Example
from core.edits import ZeroHead
from core.errors import InputError
from core.reading import bounds, corpus_jobs
from core.reading.corpus_jobs import CorpusJobs
from core.training.recipe import recipes, untrained

LETTERS = np.random.default_rng(3)
STRINGS = ["".join(LETTERS.choice(list("ACDEF"), n)) for n in (7, 9, 10, 11, 11, 12, 13, 13, 14, 15, 16, 18)]
PAIRS = [Example(text, text[::-1]) for text in STRINGS]


@pytest.fixture(scope="module")
def translator():
    return letters_model.model("transformer", "tiny", letters_model.acids())


@pytest.fixture(scope="module")
def heads_by_kind(translator):
    other = replace(translator, network=letters_model.model("transformer", "x", translator.tokenizer).network)
    return heads.head_corpus(translator, PAIRS, other, controls=4)


def rows_of(model, kind, number):
    """Return the strongest weight of each row of a passage, by head, with its key: loops over one run alone."""
    run = model.run(PAIRS[number].text, target=PAIRS[number].target)
    crosses = kind == "cross"
    read = run.attention(kind, writing=crosses)
    for layer, head in np.ndindex(read.weights.shape[:2]):
        for query in read.rows:
            keys = [
                key
                for key in range(len(read.keys))
                if read.allowed[layer, min(head, read.allowed.shape[1] - 1), query, key]
                and key not in read.special_positions[1]
                and (crosses or key not in (0, query))
            ]
            if query not in read.special_positions[0] and len(keys) >= heads.MIN_KEYS:
                for key in keys:
                    yield layer, head, query, key, float(read.weights[layer, head, query, key]), read


def test_ten_heads_by_hand(translator, heads_by_kind):
    assert sorted(heads_by_kind) == ["causal", "cross", "self"]
    for kind, corpus in heads_by_kind.items():
        cells = [(number, *row) for number in range(len(PAIRS)) for row in rows_of(translator, kind, number)]
        layers, n_heads = corpus.shape
        assert layers * n_heads >= 4 and corpus.n == len(PAIRS)
        for layer, head in list(np.ndindex(layers, n_heads))[:4]:
            own = [cell for cell in cells if cell[1:3] == (layer, head)]
            best = {
                number: max(row[5] for row in own if row[0] == number) for number in {row[0] for row in own}
            }
            order = sorted(best, key=lambda number: -best[number])
            rows = corpus.strongest[layer][head]
            assert [row.passage for row in rows] == order[: heads.STRONGEST]
            deciles = corpus.deciles[layer][head]
            wanted = [order[int((tenth + 0.5) * len(order) / len(deciles))] for tenth in range(len(deciles))]
            assert [row.passage for row in deciles] == wanted and len(deciles) == min(10, len(order))
            for row in (*rows, *deciles):
                *_, query, key, weight, read = max(
                    (cell for cell in own if cell[0] == row.passage), key=lambda cell: cell[5]
                )
                assert (row.query, row.key) == (query, key)
                assert row.weight == pytest.approx(weight, abs=1e-3)
                assert row.query_token == read.queries[query]
                around = range(max(0, key - heads.BEFORE), min(len(read.keys), key + heads.AFTER + 1))
                assert {*around} <= {*row.positions}
                assert row.tokens == tuple(read.keys[place] for place in row.positions)
                assert row.weights == pytest.approx(
                    read.weights[layer, head, query, list(row.positions)], abs=2e-3
                )
            scores = corpus.measures[heads.STRONGEST_WEIGHT][layer, head]
            assert scores == pytest.approx(
                [np.mean([*best.values()]), *np.quantile([*best.values()], heads.QUANTILES)], abs=1e-5
            )
            for axis, tops in ((3, corpus.queries), (4, corpus.keys)):
                largest = {}
                for row in own:
                    name = (row[6].queries if axis == 3 else row[6].keys)[row[axis]]
                    place = row[0], row[axis], name
                    largest[place] = max(row[5], largest.get(place, 0.0))
                by_token = {}
                for (*_, name), weight in largest.items():
                    by_token.setdefault(name, []).append(weight)
                means = {
                    name: np.mean(each) for name, each in by_token.items() if len(each) >= heads.MIN_COUNT
                }
                assert [one.token for one in tops[layer][head]] == sorted(
                    means, key=lambda name: -means[name]
                )[:8]
                for one in tops[layer][head]:
                    assert one.weight == pytest.approx(means[one.token], abs=1e-3)
                    assert one.count == len(by_token[one.token])


def test_how_measures_spread_and_the_controls(translator, heads_by_kind):
    causal = heads_by_kind["causal"]
    distances, entropies = [], []
    for row in PAIRS:
        read = translator.run(row.text, target=row.target).attention("causal")
        w = read.weights[1, 0].astype(float)
        queries, keys = np.indices(w.shape)
        distances.append((w * abs(queries - keys)).sum() / len(w))
        each = [-(p[p > 0] * np.log(p[p > 0])).sum() / np.log(n + 1) for n, p in enumerate(w) if n]
        entropies.append(np.mean(each))
    for name, values in ((heads.DISTANCE, distances), ("spread", entropies)):
        assert causal.measures[name][1, 0] == pytest.approx(
            [np.mean(values), *np.quantile(values, heads.QUANTILES)], abs=1e-4
        )
    # the copy has the same weights, so that as a control it repeats the passages it is given
    again = heads.head_corpus(translator, heads.evenly(PAIRS, 4))["causal"]
    for name, table in causal.controls[heads.UNTRAINED].items():
        np.testing.assert_allclose(table, again.measures[name], atol=1e-5)
    assert causal.controls.keys() == {heads.SHUFFLED, heads.UNTRAINED}
    mixed = heads.shuffled(Example("a b c", "uvw"), np.random.default_rng(1))
    assert sorted(mixed.text.split()) == ["a", "b", "c"] and sorted(mixed.target or "") == ["u", "v", "w"]
    letters = heads.shuffled(Example("abcdefgh"), np.random.default_rng(1)).text
    assert sorted(letters) == list("abcdefgh") != list(letters)


def test_texts_that_cannot_be_read_are_left_out():
    model = core.open_model("induction-tiny")
    found = heads.head_corpus(model, ["abcdefghij", "", "a" * 9999, "jihgfedcbaabc"])["causal"]
    assert found.n == 2 and {row.passage for row in found.strongest[1][0]} == {0, 3}
    with pytest.raises(InputError, match="None of the passages can be read"):
        heads.head_corpus(model, ["", "a" * 9999])


def test_the_file_gives_back_what_was_written_and_refuses_others(tmp_path, heads_by_kind):
    corpus = ModelCorpus(
        (Source("strings", 5, "ours"), Source("more", 7, "ours", is_own_task=True)), heads_by_kind, seed=2
    )
    path = tmp_path / "tiny.json.gz"
    write_corpus(path, corpus, "abc")
    back = read_corpus(path, "abc")
    assert back.sources == corpus.sources and back.n == 12 and back.seed == 2
    assert [back.source_of(number).name for number in (0, 4, 5, 11)] == ["strings", "strings", "more", "more"]
    for kind, one in heads_by_kind.items():
        two = back.kinds[kind]
        assert two.strongest == one.strongest and two.deciles == one.deciles
        assert two.queries == one.queries and two.keys == one.keys
        for name, table in one.measures.items():
            np.testing.assert_allclose(two.measures[name], table, atol=1e-4)
    whole = gzip.decompress(path.read_bytes())
    held = json.loads(whole)

    def refusal(data: bytes, weights: str = "abc") -> str:
        path.write_bytes(data)
        with pytest.raises(InputError) as caught:
            read_corpus(path, weights)
        return str(caught.value)

    assert "has version 99, not 1." in refusal(gzip.compress(json.dumps(held | {"version": 99}).encode()))
    assert "is of other weights." in refusal(gzip.compress(whole), "xyz")
    odd = json.loads(whole)
    odd["kinds"]["self"]["heads"][0][0][0][0][7][0] = 7777
    short = json.loads(whole)
    short["kinds"]["self"]["measures"]["spread"] = [[[0.1]]]
    for data in (
        b"",
        b"no gzip",
        gzip.compress(whole)[:-9],
        gzip.compress(b"[]"),
        gzip.compress(b"{}"),
        *(gzip.compress(json.dumps(one).encode()) for one in (odd, short, held | {"kinds": 3})),
    ):
        assert "is broken" in refusal(data) or "cannot be read" in refusal(data)


def test_what_ships_is_of_the_present_weights_and_small():
    files = sorted(assets("heads").glob("*.json.gz"))
    assert files and sum(path.stat().st_size for path in files) <= 10e6
    for path in files:
        name = path.name.removesuffix(".json.gz")
        assert path.stat().st_size <= corpus_file.MOST_BYTES and (shipped_folder() / name).is_dir()
    for path in files[:: max(1, len(files) // 4)]:
        assert shipped_corpus(path.name.removesuffix(".json.gz")) is not None
    assert shipped_corpus("copy-rnn") is None


def test_uniform_attention_is_spread_to_the_whole_and_a_row_of_one_key_has_no_spread():
    allowed = np.tri(3, dtype=bool)[None, None]
    weights = np.where(allowed, 1 / np.arange(1, 4)[:, None], 0.0)
    attention = SimpleNamespace(weights=weights, allowed=allowed)
    spread = evidence.row_scores(attention, "spread", Example("a b c"))
    np.testing.assert_allclose(spread, [[[np.nan, 1.0, 1.0]]])


# ---------------- The numbers of shipped head pages read again from their models; what a head does to the loss and what it writes, by hand.


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


def test_the_effect_on_a_page_is_the_growth_of_the_loss_without_the_head():
    model, examples = core.open_model("induction-tiny"), list(recipes()["induction-tiny"].examples())
    layer, head = 1, 1
    edit, growth = ZeroHead(f"layer.{layer}.self_attn.heads", head), []
    for example in examples:
        losses = []
        for edits in ((), edit):
            run = model.run(example.text, edits=edits, keep=())
            chances = run.logits[:-1].astype(np.float64)
            chances -= np.log(np.exp(chances).sum(-1, keepdims=True))
            losses.append(-np.mean(chances[np.arange(len(chances)), list(run.ids[1:])]))
        growth.append(losses[1] - losses[0])
    page = shipped_corpus("induction-tiny").kinds["causal"]
    assert page.effect[layer, head] == pytest.approx(np.mean(growth), abs=2e-4)


@pytest.mark.parametrize("name", deep(OWN_TASK, OWN_TASK[::2]))
def test_all_heads_of_a_model_have_the_numbers_of_their_pages(name):
    examples = list(recipes()[name].examples())
    shipped = shipped_corpus(name)
    assert shipped.n == len(examples)
    for kind, found in heads.head_corpus(core.open_model(name), examples, controls=1).items():
        page = shipped.kinds[kind]
        assert page.measures.keys() == found.measures.keys()
        for measure, table in found.measures.items():
            np.testing.assert_allclose(page.measures[measure], table, atol=2e-3, err_msg=measure)
        for layer, head in np.ndindex(*found.shape):  # passages with equal weights may change places
            for theirs, ours in ((page.strongest, found.strongest), (page.deciles, found.deciles)):
                wanted = [row.weight for row in ours[layer][head]]
                assert [row.weight for row in theirs[layer][head]] == pytest.approx(wanted, abs=1.5e-3)


def test_what_a_head_writes_is_its_value_through_the_weights(monkeypatch):
    monkeypatch.setattr(corpus_writes, "DIGITS", 6)
    name, layer, head = "induction-tiny", 1, 1
    model, examples = core.open_model(name), list(recipes()[name].examples())
    shipped = shipped_corpus(name)
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


# ---------------- A visitor's own lines over all heads: measured behind the page, for this visitor, in turn; odd lines refused in words.


@pytest.fixture(scope="module")
def protein():
    return letters_model.model("bert", "protein", letters_model.acids())


@pytest.fixture(autouse=True)
def current(monkeypatch):
    monkeypatch.setattr("core.serving.engine.Engine.is_current", lambda *_: True)


def ended(jobs, model, visitor):
    while not (standing := jobs.progress(model, visitor)).over:
        time.sleep(0.01)
    return standing


def test_own_lines_give_what_a_direct_reading_gives(protein):
    jobs, lines = CorpusJobs(), [*letters_model.PROTEINS, "", "MK" * 3000]
    assert jobs.progress(protein, "Ana") is None
    jobs.begin(protein, lines, "Ana")
    found = ended(jobs, protein, "Ana")
    assert not found.problem and found.corpus is not None and found.corpus.n == 5
    heads = found.corpus.kinds["self"]
    parts = [
        bounds.slice_tokens(protein, line[: corpus_jobs.LETTERS], 0, corpus_jobs.TOKENS) for line in lines
    ]
    direct = head_corpus(protein, [part for part in parts if part], untrained(protein))["self"]
    assert heads.controls.keys() == {SHUFFLED, UNTRAINED}
    for own, other in (
        (heads.measures, direct.measures),
        *((heads.controls[name], direct.controls[name]) for name in heads.controls),
    ):
        for name, table in other.items():
            np.testing.assert_allclose(own[name], table, atol=1e-5)
    assert jobs.progress(protein, "Ben") is None
    jobs.forget(protein, "Ana")
    assert jobs.progress(protein, "Ana") is None


def test_a_newer_reading_ends_the_older_and_odd_lines_are_refused(protein, monkeypatch):
    monkeypatch.setattr(corpus_jobs, "LINES", 3)
    jobs = CorpusJobs()
    jobs.begin(protein, [letters_model.PROTEINS[0]] * 200, "Ana")
    jobs.begin(protein, [letters_model.PROTEINS[1]] * 5, "Ana")
    found = ended(jobs, protein, "Ana")
    assert found.corpus is not None and found.corpus.n == 3 and found.beyond == 2
    jobs.begin(protein, [" ", ""], "Ana")
    refused = ended(jobs, protein, "Ana")
    assert "There is no text to read" in refused.problem and refused.corpus is found.corpus
    jobs.begin(protein, [" "], "Ben")
    assert ended(jobs, protein, "Ben").corpus is None


@pytest.mark.slow
def test_lines_are_read_by_a_model_without_a_residual_stream_and_cut_at_the_context():
    recurrent, jobs = core.open_model("bahdanau-en-es"), CorpusJobs()
    jobs.begin(recurrent, ["The cat sleeps.", "word " * 200_000], "Ana")
    found = ended(jobs, recurrent, "Ana")
    assert not found.problem and found.corpus is not None and found.corpus.n == 2
    heads = found.corpus.kinds["alignment"]
    assert heads.n == 2 and heads.writes is None and len(found.corpus.texts[1].text) <= corpus_jobs.LETTERS
    with pytest.raises(InputError, match="does not reach a score of words"):
        head_writes(recurrent, found.corpus.texts, "alignment", heads, 0, 0)
