"""Running text for BERT: sentences, windows, pairs, hidden words; and how a masked model is measured on it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import core
from core.checkpoints.store import load_weights, shipped_folder
from core.data.passages import FAR, SENTENCE, SIDE, Books, add_special_tokens, hide, pad_rows
from core.models import Batch, families
from core.scoring import masked
from core.text import Tokenizer
from core.text.learn import learn_wordpiece
from core.tools.evaluate import evaluate
from core.trace import record
from core.training import more_positions as fitted
from core.training.loop.engine import Plan, train
from core.training.recipes import bert_mini, bigbird_mini

IDS = {"pad": 0, "start": 2, "end": 3, "mask": 4}
NAMES = ("ada", "ben", "cleo", "dora", "emil", "fay", "gus")


def story(book: int, n: int) -> list[str]:
    """One paragraph of two sentences a line, each naming its place: book 1 line 7 is unlike any other."""
    return [
        f"In book {book} line {i} stands {NAMES[i % 7]}. It is followed by number {i + 1} of {book}!"
        for i in range(n)
    ]


ROWS = ["=== one", *story(1, 60), "=== two", *story(2, 50), "=== three", "Too short."]
TOK = Tokenizer(learn_wordpiece([row for row in ROWS if not row.startswith("=")] * 3, 200), **IDS)
BOOKS = Books.read(ROWS, TOK)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("He ran. She sat.", ["He ran.", "She sat."]),
        ("'Why?' asked Tom. \"Because!\" she said.", ["'Why?' asked Tom.", '"Because!" she said.']),
        ("Stop!!! Now (really). Yes", ["Stop!!!", "Now (really).", "Yes"]),
        ("no end", ["no end"]),
        ("  ", []),
    ],
)
def test_sentences_end_where_a_capital_follows(text, parts):
    assert [match.group() for match in SENTENCE.finditer(text)] == parts


def test_a_book_is_read_whole_and_in_order():
    written = [TOK.decode(row) for row in np.split(BOOKS.stream, BOOKS.bounds[1:-1])]
    assert len(written) == len(BOOKS.book) == 2 * 60 + 2 * 50 + 1
    assert written[0].replace(" ", "") == "inbook1line0standsada." and written[-1] == "too short."
    assert [int((BOOKS.book == i).sum()) for i in (1, 2, 3)] == [120, 100, 1]
    assert np.array_equal(
        np.concatenate([TOK.encode(s).ids for row in ROWS if row[0] != "=" for s in SENTENCE.findall(row)]),
        BOOKS.stream,
    )


def test_windows_fill_their_size_within_one_book():
    size = 50
    starts = BOOKS.window_starts(size)
    owner = np.repeat(BOOKS.book, np.diff(BOOKS.bounds))
    assert all(len(set(owner[a : a + size])) == 1 for a in starts)
    lengths = [int((owner == i).sum()) for i in (1, 2, 3)]
    assert len(starts) == sum(n // size for n in lengths)
    assert len(set(np.concatenate([np.arange(a, a + size) for a in starts]))) == size * len(starts)


@given(st.integers(0, len(BOOKS.book) - 1), st.integers(0, 2**32), st.booleans())
def test_pairs_are_neighbours_or_far_apart_in_the_same_book(first, seed, follows):
    pair = BOOKS.pair(first, np.random.default_rng(seed), follows)
    if pair is None:
        last = int(np.flatnonzero(BOOKS.book == BOOKS.book[first])[-1])
        assert first + 6 > last + 1 or BOOKS.book[first] == 3
        return
    first_texts = [BOOKS.sentences(first, n) for n in (1, 2, 3)]
    n_first = 1 + next(i for i, text in enumerate(first_texts) if np.array_equal(text, pair.first))
    seconds = [
        i
        for i in range(len(BOOKS.book))
        if any(np.array_equal(BOOKS.sentences(i, n), pair.second) for n in (1, 2, 3))
    ]
    assert len(seconds) == 1 and pair.follows == follows  # each sentence names its place
    second = seconds[0]
    assert BOOKS.book[second] == BOOKS.book[first] and len(pair.first) <= SIDE and len(pair.second) <= SIDE
    if follows:
        assert second == first + n_first
    else:
        assert abs(int(BOOKS.paragraph[second]) - int(BOOKS.paragraph[first])) >= FAR


def test_fifteen_per_cent_are_chosen_and_their_fate_is_80_10_10():
    rng = np.random.default_rng(0)
    ids = rng.integers(5, 200, size=(400, 202))
    ids[:, 0], ids[:, -1] = 2, 3
    special = ids < 5
    read, chosen = hide(ids, special, rng, mask=4, drawable=np.arange(5, 200))
    assert (chosen.sum(1) == 30).all() and not (chosen & special).any()
    assert np.array_equal(read[~chosen], ids[~chosen]) and read.min() >= 2
    masked_share, same = (read[chosen] == 4).mean(), (read[chosen] == ids[chosen]).mean()
    assert masked_share == pytest.approx(0.8, abs=0.015)  # 4 standard errors of 12,000 draws
    assert same == pytest.approx(0.1 + 0.1 / 195, abs=0.012)
    assert chosen.mean(0)[1:-1].std() < 0.03  # every place alike


def test_a_row_of_one_word_has_it_hidden():
    _, chosen = hide(
        np.array([[2, 9, 3]]),
        np.array([[True, False, True]]),
        np.random.default_rng(0),
        mask=4,
        drawable=np.arange(5, 9),
    )
    assert chosen.tolist() == [[False, True, False]]


def test_rows_are_framed_and_padded():
    ids, segments, real = pad_rows(
        [add_special_tokens(TOK, np.array([7, 8]), np.array([9])), add_special_tokens(TOK, np.array([5]))], 0
    )
    assert ids.tolist() == [[2, 7, 8, 3, 9, 3], [2, 5, 3, 0, 0, 0]]
    assert segments.tolist() == [[0, 0, 0, 0, 1, 1], [0] * 6]
    assert real.tolist() == [[True] * 6, [True] * 3 + [False] * 3]


# --- measuring


def reader(n_ctx: int = 61, **changes) -> core.Model:
    torch.manual_seed(3)
    family = families()["bert"]
    config = replace(family.config.tiny(), n_vocab=len(TOK), n_ctx=n_ctx, **changes)
    return core.Model("random-bert", family, config, family.network(config), TOK)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    return path


def test_a_model_that_always_says_one_word_scores_its_share(text):
    """The bias alone decides: 'book' first, then four words; the masked metrics are their shares among the hidden words."""
    model = reader()
    for weight in model.network.masked_lm.parameters():
        weight.data.zero_()
    order = [TOK.encode(word).ids[0] for word in ("in", "book", "line", "it", "by")]
    model.network.masked_lm.bias.data[order] = torch.tensor([5.0, 4.0, 3.0, 2.0, 1.0])
    found = evaluate(model, text)
    rng = np.random.default_rng(0)
    starts, wanted = BOOKS.window_starts(59), []
    for part in (starts[i : i + 8192 // 61] for i in range(0, len(starts), 8192 // 61)):
        ids, _, _ = pad_rows([add_special_tokens(TOK, BOOKS.stream[a : a + 59]) for a in part], 0)
        _, chosen = hide(ids, ids < 5, rng, mask=4, drawable=np.arange(5, len(TOK)))
        wanted.extend(ids[chosen])
    assert found["items"] == len(wanted) == found["passages"] * round(0.15 * 59)
    assert found["masked_top1"] == pytest.approx(np.mean(np.array(wanted) == order[0]), abs=1e-5)
    assert found["masked_top5"] == pytest.approx(np.isin(wanted, order).mean(), abs=1e-5)
    assert found["masked_top1"] > 0


def test_passages_that_are_longer_than_a_batch_are_read_one_at_a_time(monkeypatch):
    model, sizes = reader(), []
    model.network.register_forward_pre_hook(lambda _, given: sizes.append(len(given[0].ids)))
    monkeypatch.setattr(masked, "BATCH_TOKENS", 7)
    found = masked.measure_hidden_words(model, Books.read(ROWS[:12], TOK))
    assert sizes == [1] * found["passages"] and len(sizes) > 1


@pytest.mark.parametrize("says", [0, 1])
def test_a_model_that_always_gives_one_answer_scores_the_share_of_it(text, says):
    model = reader()
    model.network.to_next_sentence.weight.data.zero_()
    model.network.to_next_sentence.bias.data = torch.eye(2)[says]
    found = evaluate(model, text)
    follow = found["pairs_that_follow"]
    assert found["next_sentence_accuracy"] == pytest.approx(follow if says == 0 else 1 - follow, abs=2e-5)
    assert 0.2 < follow < 0.8 and found["pairs"] > 20


def test_without_a_next_sentence_head_only_words_are_measured(text):
    assert "pairs" not in evaluate(reader(next_sentence=False), text)
    with pytest.raises(core.InputError, match="head for hidden words"):
        evaluate(reader(masked_lm=False), text)


def test_a_text_that_fills_no_context_is_said(tmp_path):
    path = tmp_path / "short.txt"
    path.write_text("Too short.\n", encoding="utf-8")
    with pytest.raises(core.InputError, match="fills no context"):
        evaluate(reader(), path)


def test_walked_pairs_do_not_overlap():
    pairs = masked.sample_pairs(BOOKS, np.random.default_rng(0))
    assert len(pairs) > 20 and all(a.after <= b.after - 2 for a, b in pairwise(pairs))


# --- the recipe


@pytest.fixture
def task(monkeypatch):
    config = replace(
        bert_mini.RECIPE.config, n_layers=2, n_heads=3, d_model=33, d_ff=13, n_vocab=len(TOK), n_ctx=61
    )
    monkeypatch.setattr(bert_mini, "RECIPE", replace(bert_mini.RECIPE, config=config))
    monkeypatch.setattr(bert_mini, "CHECKED", 1)
    return bert_mini.Passages(BOOKS, BOOKS, TOK, 0, torch.device("cpu"))


def test_a_batch_has_windows_pairs_and_short_texts_and_depends_on_the_step_alone(task):
    groups, n_tokens = task.batch(3)
    of = bert_mini.mix(3)
    assert [len(rows.batch.ids) for rows in groups] == [
        of.windows * 61 // bert_mini.SHORTEST,
        *[of.pairs // bert_mini.GROUPS] * bert_mini.GROUPS,
        of.short,
    ]
    assert groups[0].batch.real.all() and groups[0].batch.ids.shape[1] == bert_mini.SHORTEST
    assert n_tokens == sum(int(rows.batch.real.sum()) for rows in groups)
    told = [rows.follows for rows in groups if rows.follows is not None]
    assert len(told) == bert_mini.GROUPS
    assert groups[1].batch.ids.shape[1] < groups[bert_mini.GROUPS].batch.ids.shape[1]
    assert 0.25 * of.pairs < int(torch.cat(told).sum()) < 0.75 * of.pairs
    again, _ = task.batch(3)
    assert all(torch.equal(a.batch.ids, b.batch.ids) for a, b in zip(groups, again, strict=True))
    assert not torch.equal(task.batch(4)[0][0].batch.ids, groups[0].batch.ids)


def test_less_and_less_is_hidden_down_to_the_usual_share(task):
    def share(step: int) -> float:
        rows = task.batch(step)[0][0]
        return len(rows.targets) / int((rows.batch.real.sum(1) - 2).sum())

    assert share(0) == pytest.approx(0.3, abs=0.03) and share(bert_mini.FALLS - 1) == pytest.approx(
        0.15, abs=0.02
    )
    assert share(2 * bert_mini.RECIPE.steps) == pytest.approx(0.15, abs=0.02)


def test_windows_grow_to_the_whole_context_and_are_then_as_many_as_the_recipe_says(task):
    sizes = [task.batch(step)[0][0].batch.ids.shape for step in (0, bert_mini.GROWS, 10 * bert_mini.GROWS)]
    assert [size[1] for size in sizes] == [16, 32, 61] and sizes[-1][0] == bert_mini.mix(
        10 * bert_mini.GROWS
    ).windows


def test_the_loss_is_the_sum_of_the_two_means_and_reaches_every_weight(task):
    torch.manual_seed(0)
    network = families()["bert"].network(bert_mini.RECIPE.config)
    groups, _ = task.batch(10 * bert_mini.GROWS)
    loss = task.loss(network, groups)
    words, told = [], []
    for rows in groups:
        hidden = network(rows.batch)
        words.append(
            torch.nn.functional.cross_entropy(
                network.logits(hidden)[rows.masked], rows.targets, reduction="none"
            )
        )
        if rows.follows is not None:
            told.append(
                torch.nn.functional.cross_entropy(
                    network.next_sentence(network.pooled(hidden)), (~rows.follows).long(), reduction="none"
                )
            )
    torch.testing.assert_close(loss, torch.cat(words).mean() + torch.cat(told).mean(), rtol=1e-4, atol=1e-5)
    loss.backward()
    assert all(weight.grad is not None and weight.grad.abs().max() > 0 for weight in network.parameters())
    with torch.inference_mode():
        assert set(task.check(network.eval())) == {"valid_nats", "top1", "next"}


def test_positions_begin_as_waves_of_the_size_of_words():
    torch.manual_seed(0)
    network = families()["bert"].network(replace(families()["bert"].config.tiny(), d_model=36, n_ctx=40))
    before = network.layers[0].self_attn.to_q.weight.clone()
    bert_mini.begin(network)
    places = network.embed["position"].weight.detach()
    assert places.std().item() == pytest.approx(network.embed["token"].weight.std().item(), rel=1e-4)
    nearness = torch.nn.functional.cosine_similarity(places[20:21], places)
    assert nearness.argmax() == 20 and nearness[21] > nearness[30]
    torch.testing.assert_close(network.layers[0].self_attn.to_q.weight, 2 * before)


# ---------------- New rows for positions: what a head that goes by position does beyond the old end; and bigbird-mini's recipe, which begins so.


OLD, NEW = 256, 352
PATH = "layer.0.self_attn.pattern"
SHAPE = {"n_layers": 2, "n_heads": 3, "d_model": 33, "d_ff": 13, "n_vocab": len(TOK), "n_ctx": 61, "block": 4}


def full(table):
    """bert-mini's network with another table of positions."""
    config = replace(bigbird_mini.RECIPE.config, n_ctx=len(table), layout="full")
    weights = bigbird_mini.repeat_positions(load_weights(shipped_folder() / bigbird_mini.BASE))
    with torch.device("meta"):
        network = families()["bigbird"].network(config)
    network.load_state_dict(weights | {"embed.position.weight": table}, assign=True)
    return network.eval()


def before(table):
    """What the head of the word before (L0.H6 of bert-mini) gives to it from the new positions, in random words."""
    ids = torch.randint(5, 8000, (2, len(table)), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        _, trace = record(full(table), Batch(ids=ids, real=ids >= 0), keep=[PATH])
    given = trace[PATH][:, 6].diagonal(-1, 1, 2)
    return float(given[:, OLD + 1 :].mean()), float(given[:, : OLD - 1].mean())


@pytest.mark.slow
def test_the_head_of_the_word_before_finds_it_at_positions_it_never_learnt(monkeypatch):
    monkeypatch.setattr(fitted, "LAYERS", 1)
    monkeypatch.setattr(fitted, "TEXTS", 4)
    copies = bigbird_mini.repeat_positions(load_weights(shipped_folder() / bigbird_mini.BASE))[
        "embed.position.weight"
    ].float()[:NEW]
    table = fitted.more_positions(full(copies), OLD, NEW, steps=60)
    assert torch.equal(table[:OLD], copies[:OLD]) and not torch.equal(table[OLD:], copies[OLD:])
    (alike, alike_near), (apart, apart_near) = before(copies), before(table)
    assert alike < 0.55 and alike_near < 0.8, "a copy of a position takes half of the attention"
    assert apart > 0.7 and apart_near > 0.85


@pytest.fixture
def recipe(monkeypatch):
    config = replace(bigbird_mini.RECIPE.config, **SHAPE)
    small = replace(bigbird_mini.RECIPE, config=config, inherit=lambda network: None, steps=2, warm_up=1)
    monkeypatch.setattr(bigbird_mini, "RECIPE", small)
    monkeypatch.setattr(bigbird_mini, "PARTS", ((61, 1, "sparse"), (31, 2, "full")))
    return small


def test_a_batch_is_read_with_either_mask_and_the_step_alone_decides(recipe, tmp_path):
    task = bigbird_mini.Pages(BOOKS, BOOKS, TOK, 0, torch.device("cpu"))
    groups, n_tokens = task.batch(1)
    assert [tuple(rows.batch.ids.shape) for rows in groups[:2]] == [(1, 61), (2, 31)]
    assert len(groups[2].batch.ids) == bigbird_mini.SHORT
    assert n_tokens == sum(int(rows.batch.real.sum()) for rows in groups)
    again, _ = task.batch(1)
    assert all(torch.equal(a.batch.ids, b.batch.ids) for a, b in zip(groups, again, strict=True))
    network = families()["bigbird"].network(recipe.config).eval()
    read = []
    layer_masks = type(network).layer_masks

    def noting(self, real):
        read.append((self.cfg.layout, real.shape[1]))
        return layer_masks(self, real)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(network), "layer_masks", noting)
        task.loss(network, groups)
    assert read == [("sparse", 61), ("full", 31), ("sparse", groups[2].batch.ids.shape[1])]
    assert network.cfg.layout == "sparse"
    outcome = train(recipe, task, Plan(work=tmp_path, quiet=True), torch.device("cpu"))
    assert outcome.steps == 2 and outcome.log[-1]["valid_nats"] > 0


def test_it_begins_as_bert_mini_on_short_texts(monkeypatch):
    monkeypatch.setattr(fitted, "TEXTS", 1)
    monkeypatch.setattr(bigbird_mini, "more_positions", partial(fitted.more_positions, steps=1))
    network = families()["bigbird"].network(bigbird_mini.RECIPE.config)
    bigbird_mini.inherit(network)
    held = load_weights(shipped_folder() / bigbird_mini.BASE)
    for name, value in network.state_dict().items():
        old = held[name].float()
        assert torch.equal(value[: len(old)], old), name
    table = network.embed["position"].weight.detach()
    assert len(table) == bigbird_mini.RECIPE.config.n_ctx
    assert float(torch.cdist(table, table).fill_diagonal_(9).min()) > 0.05, "no two positions are alike"
