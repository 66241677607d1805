"""The greedy cut against the library's, the draw of masked words and its counts, the sum of the three vectors, the recipe."""

from __future__ import annotations

import numpy as np
import pytest
import tokenizers
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models

import core
from core.errors import InputError
from core.models import Batch
from viz.course.bert import contextual_vectors, hidden_words, masking, senses, wordpiece
from viz.course.bert.bert_input import input_sum
from viz.course.bert.sentence_pairs import next_pairs, next_sentence

letters = st.text("abc", min_size=1, max_size=6)


@given(st.lists(st.tuples(st.booleans(), letters), max_size=12), letters)
def test_the_greedy_cut_is_the_librarys(drawn, word):
    known = {("##" if on else "") + piece for on, piece in drawn}
    library = models.WordPiece(
        {piece: i for i, piece in enumerate(["[UNK]", *sorted(known)])}, unk_token="[UNK]"
    )
    assert wordpiece.cut(word, known) == tuple(token.value for token in library.tokenize(word))


def test_a_word_too_long_is_unknown_in_both():
    library = models.WordPiece({"[UNK]": 0, "a": 1, "##a": 2}, unk_token="[UNK]")
    for n in (100, 101):
        assert wordpiece.cut("a" * n, {"a", "##a"}) == tuple(
            token.value for token in library.tokenize("a" * n)
        )


def test_the_greedy_cut_over_bert_minis_pieces_is_its_tokenizer():
    tokenizer = core.open_model("bert-mini").tokenizer
    known = set(tokenizers.Tokenizer.from_str(tokenizer.to_json()).get_vocab())
    for text in (
        "My dog is cute; he likes playing, unbelievably!",
        "Zoölogy 🎉 embeddings, 42 cafés",
        "naïve ABBA's",
    ):
        assert wordpiece.split(text, known) == tokenizer.encode(text).tokens


def test_the_eleven_tokens_of_the_documents():
    """C080, C081."""
    known = wordpiece.vocabulary(wordpiece.DOCUMENTS)
    row = wordpiece.framed(*(wordpiece.split(text, known) for text in wordpiece.EXAMPLE))
    assert " ".join(row.tokens) == "[CLS] my dog is cute [SEP] he likes play ##ing [SEP]"
    assert row.segments == (0,) * 6 + (1,) * 5 and row.positions == tuple(range(11))
    assert wordpiece.split("my cat", known) == ("my", "[UNK]")
    for line in (" ".join(map(str, range(200))), "a" * 30):
        with pytest.raises(InputError):
            wordpiece.vocabulary(line)


IDS = np.arange(100, 126)
SPECIAL = np.isin(np.arange(26), (0, 12, 25))
HOW = {"mask": 4, "drawable": np.arange(5, 90)}


def test_one_draw_has_labels_where_it_chose_and_only_there():
    """C082."""
    one = masking.draw(IDS, SPECIAL, 7, **HOW)
    chosen = one.fate != masking.NOT_CHOSEN
    assert chosen.sum() == round(0.15 * 23) and not (chosen & SPECIAL).any()
    np.testing.assert_array_equal(one.labels, np.where(chosen, IDS, -100))
    np.testing.assert_array_equal(one.read[~chosen], IDS[~chosen])
    assert (one.read[one.fate == masking.HIDDEN] == 4).all() and (
        one.read[one.fate == masking.CHANGED] < 90
    ).all()
    again, other = masking.draw(IDS, SPECIAL, 7, **HOW), masking.draw(IDS, SPECIAL, 8, **HOW)
    np.testing.assert_array_equal(one.read, again.read)
    assert (one.read != other.read).any()


@pytest.mark.parametrize(
    "rates",
    [
        masking.Rates(),
        masking.Rates(0.5, 0.3, 0.7),
        masking.Rates(0.05, 0.0, 0.0),
        masking.Rates(0.4, 1.0, 0.0),
    ],
)
def test_many_draws_stay_within_three_deviations_and_special_tokens_are_never_chosen(rates):
    """C083. Of 29 counts one may lie outside by chance (0.3% each)."""
    found = masking.count(IDS, SPECIAL, 4000, 1, rates=rates, **HOW)
    assert found.outside <= 1 and not found.chosen_counts[SPECIAL].any()
    assert found.total == 4000 * rates.n_chosen(23) == found.fates.sum()
    np.testing.assert_allclose(found.chosen_expected.sum(), found.total)
    np.testing.assert_allclose(
        found.fates_expected,
        found.total * np.array([rates.masked, rates.redrawn, 1 - rates.masked - rates.redrawn]),
    )


def test_counts_and_deviations_are_those_of_the_binomial():
    counts = np.array([masking.count(IDS, SPECIAL, 50, number, **HOW).fates for number in range(300)])
    found = masking.count(IDS, SPECIAL, 50, 0, **HOW)
    np.testing.assert_allclose(counts.std(0), found.fates_deviation, rtol=0.2)
    np.testing.assert_allclose(
        counts.mean(0), found.fates_expected, atol=4 * found.fates_deviation.max() / 300**0.5
    )


def test_the_recipe():
    """C093."""
    assert [masking.rate(t) for t in (0, 5_000, 10_000, 505_000, 1_000_000)] == pytest.approx(
        [0, 5e-5, 1e-4, 5e-5, 0]
    )
    for t in (1, 100, 400, 999):
        assert masking.rate(t, 1.0, 100, 1000) == pytest.approx(np.interp(t, [0, 100, 1000], [0, 1, 0]))
    assert masking.tokens_a_step() == 131_072 and masking.epochs(131_072) == pytest.approx(39.7, abs=0.05)
    assert masking.rate(3, 1.0, 0, 10) == 0.7 and masking.rate(5, 1.0, 10, 10) == 0.5


def test_three_vectors_are_added_exactly_and_switching_one_off_is_told():
    model = core.open_model("bert-mini")
    found = input_sum.summed(
        model.run(*wordpiece.EXAMPLE[:1], pair=wordpiece.EXAMPLE[1], keep=input_sum.KEEP)
    )
    assert found.exact and found.total.shape == (len(found.tokens), 256)
    table = model.network.embed
    np.testing.assert_array_equal(
        found.parts["segment"], table["segment"].weight[list(found.segments)].numpy()
    )
    np.testing.assert_array_equal(
        found.parts["position"], table["position"](torch.arange(len(found.tokens))).numpy()
    )
    less = input_sum.ablate(model, *wordpiece.EXAMPLE, "segment")
    ids = torch.tensor(
        [model.run(*wordpiece.EXAMPLE[:1], pair=wordpiece.EXAMPLE[1], keep=input_sum.KEEP).ids]
    )
    with torch.inference_mode():
        total = table["norm"](table["token"](ids) + table["position"](torch.arange(ids.shape[1])))
        for block in model.network.layers:
            total = block(total, torch.ones(1, 1, 1, ids.shape[1], dtype=torch.bool))
        whole = model.network(Batch(ids=ids, real=ids >= 0, segments=torch.tensor([found.segments])))
    wanted = 1 - torch.nn.functional.cosine_similarity(whole[0], total[0], dim=-1)
    np.testing.assert_allclose(less.turned, wanted.numpy(), atol=1e-5)


def test_contexts_hide_the_other_side_and_both_sides_know_the_door():
    model = core.open_model("bert-mini")
    text = hidden_words.read(model, "She opened the door and went into the house.", 30)
    rows, found = hidden_words.contexts(model, text, 4)
    hidden = rows == 4
    assert hidden[:, 4].all() and not hidden[:, [0, -1]].any()
    assert hidden[1, 5:-1].all()
    assert not hidden[1, :4].any()
    assert hidden[2, 1:4].all()
    assert not hidden[2, 5:].any()
    assert hidden[3].sum() == 1
    both = model.run("She opened the [MASK] and went into the house.")
    assert found["both"].target_chance == pytest.approx(
        torch.tensor(both.logits[4]).softmax(-1)[text.ids[4]].item(), rel=1e-4
    )
    assert found["both"].best[0][0] == "door" and found["both"].target_chance == max(
        said.target_chance for said in found.values()
    )
    assert hidden_words.in_turn(model, text, [4])[0].target_chance == pytest.approx(
        found["both"].target_chance, rel=1e-4
    )
    left = hidden_words.from_the_left(core.open_model("gpt-mini"), text, [4])
    assert 0.1 < left[0][0] < 1
    with pytest.raises(InputError):
        hidden_words.read(model, "  ", 30)


# ------------------------------------------------------------------------------------------------ pairs of texts


def test_half_of_the_draws_follow_within_three_deviations():
    """C084."""
    lots = [next_pairs.count(next_pairs.draws(number, 400)) for number in range(40)]
    assert all(lot.expected == 200 and lot.deviation == 10 for lot in lots)
    assert sum(not lot.inside for lot in lots) <= 1
    assert abs(np.mean([lot.follow for lot in lots]) - 200) < 3 * 10 / 40**0.5
    truth = {row.first: row.second for row in next_pairs.labelled_pairs() if row.follows}
    for row in next_pairs.draws(7, 200):
        assert (truth[row.first] == row.second) is row.follows
    assert all(row.follows for row in next_pairs.draws(7, 50, share=1.0)) and not any(
        row.follows for row in next_pairs.draws(7, 50, share=0.0)
    )


def test_what_cls_says_of_a_pair_is_the_runs():
    model = core.open_model("bert-mini")
    rows = [(row.first, row.second) for row in next_pairs.labelled_pairs()[:5]]
    wanted = [
        torch.tensor(np.array(model.run(a, pair=b).next_sentence)).softmax(-1)[0].item() for a, b in rows
    ]
    np.testing.assert_allclose(next_sentence.follows(model, rows), wanted, rtol=1e-4)
    ways = next_sentence.ways(model, *rows[0])
    assert tuple(ways) == next_sentence.WAYS and ways["as trained"] == pytest.approx(wanted[0], rel=1e-4)
    assert ways["A and B swapped"] == pytest.approx(
        torch.tensor(np.array(model.run(rows[0][1], pair=rows[0][0]).next_sentence)).softmax(-1)[0].item(),
        rel=1e-4,
    )
    table, run = model.network.embed["segment"].weight, model.run(rows[0][0], pair=rows[0][1])
    first = torch.tensor(np.asarray(run.trace["embed.sum"])) - table[list(run.segments)]
    for way, extra in (("all as text A", table[0]), ("no segment embeddings", torch.zeros(256))):
        hidden = model.network.embed["norm"]((first + extra)[None])
        for block in model.network.layers:
            hidden = block(hidden, torch.ones(1, 1, 1, hidden.shape[1], dtype=torch.bool))
        assert ways[way] == pytest.approx(
            model.network.next_sentence(model.network.pooled(hidden)).softmax(-1)[0, 0].item(), rel=1e-3
        )


def test_blocks_of_attention_are_sums_over_a_text_and_means_over_another():
    run = core.open_model("bert-mini").run("He shut the door.", pair="It was cold.")
    group = next_sentence.groups(run)
    assert [next_sentence.GROUPS[g] for g in group] == ["[CLS]", *["A"] * 5, "[SEP]", *["B"] * 4, "[SEP]"]
    weights = run.attention("self").weights
    found = next_sentence.blocks(weights, group)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(found[3, 2, 1, 2], weights[3, 2, 1:6, 7:11].sum(-1).mean(), rtol=1e-5)
    np.testing.assert_allclose(found[5, 0, 0, 3], weights[5, 0, 0, [6, 11]].sum(), rtol=1e-5)


def test_the_loss_is_the_sum_of_two_means():
    """C085."""
    model = core.open_model("bert-mini")
    rows = next_pairs.draws(3, 4)
    found = next_sentence.loss(
        model, [(row.first, row.second) for row in rows], [row.follows for row in rows], 5
    )
    words, pairs = [], []
    for at, row in enumerate(rows):
        changed = [
            place for place, (a, b) in enumerate(zip(found.tokens[at], found.read[at], strict=True)) if a != b
        ]
        assert all(found.tokens[at][place] not in ("[CLS]", "[SEP]") for place in changed)
        assert (found.row == at).sum() == masking.Rates().n_chosen(len(found.tokens[at]) - 3) >= len(changed)
        words.append(found.words[found.row == at].mean())
        pairs.append(-np.log(found.chances[at] if row.follows else 1 - found.chances[at]))
        assert found.of_row(at) == pytest.approx((words[-1], pairs[-1]))
    assert found.next == pytest.approx(np.mean(pairs)) and found.total == pytest.approx(
        found.words.mean() + np.mean(pairs)
    )
    alone = next_sentence.loss(model, [(rows[0].first, rows[0].second)], [not rows[0].follows], 5)
    assert alone.read[0] == found.read[0] and alone.masked == pytest.approx(words[0], rel=1e-4)
    assert np.exp(-alone.next) + np.exp(-pairs[0]) == pytest.approx(1, rel=1e-4)
    with pytest.raises(InputError):
        next_sentence.read(model, "a", " ", 60)
    with pytest.raises(InputError):
        next_sentence.read(model, "a " * 40, "b " * 30, 60)


# ------------------------------------------------------------------------------------------------ one word in many sentences


def test_the_table_is_the_same_for_all_and_context_is_not():
    """C091."""
    model = core.open_model("bert-mini")
    texts = [*senses.DOCUMENTS, senses.DOCUMENTS[0], "She put her gold in the bank."]
    found = contextual_vectors.uses(model, texts, "bank")
    assert found.places[:3] == (5, 5, 5) and found.vectors.shape == (8, 4, 256)
    assert (found.cosines(0) == 1).all() and all(found.cosines(row)[0, 2] == 1 for row in range(8))
    assert found.by_layer()[1] == 1 and (found.by_layer()[2:] < 0.95).all() and found.cosines(1)[0, 3] < 1
    run = model.run(texts[1])
    for layer in range(7):
        wanted = torch.nn.functional.cosine_similarity(
            *(torch.tensor(one.hidden()[layer, 5]) for one in (model.run(texts[0]), run)), dim=0
        )
        assert found.by_layer()[layer + 1] == pytest.approx(float(wanted), abs=1e-5)
    with pytest.raises(InputError):
        contextual_vectors.uses(model, ["No such word."], "bank")


@pytest.mark.slow
def test_every_sentence_of_ours_holds_its_word_and_sentence_vectors_are_the_runs():
    model, table = core.open_model("bert-mini"), core.open_model("vectors-mini")
    for word in senses.WORDS.values():
        found = contextual_vectors.uses(model, [text for text, _ in word.uses], word.word)
        assert len(found.texts) == 8 and sum(kind for _, kind in word.uses) == 4
        rows = contextual_vectors.belongs(table, word.word, word.near)
        assert {kind for _, kind, _ in rows} == {0, 1}
    name, _, cosine = rows[0]
    ids = [table.tokenizer.encode(text).ids[0] for text in (word.word, name)]
    assert cosine == pytest.approx(
        float(
            torch.nn.functional.cosine_similarity(*table.network.embed["token"].weight[ids].float(), dim=0)
        ),
        abs=1e-5,
    )
    text = senses.TRIPLES[0].text
    run = model.run(text)
    for how, wanted in zip(
        contextual_vectors.HOWS,
        (run.hidden()[-1, 0], run.hidden()[-1, 1:-1].mean(0), run.trace["embed.token"][1:-1].mean(0)),
        strict=True,
    ):
        np.testing.assert_allclose(
            contextual_vectors.sentences(model, [text, "A much longer sentence is beside it."], how)[0],
            wanted,
            atol=1e-4,
        )
    with pytest.raises(InputError):
        contextual_vectors.belongs(table, "xyzzyx", ((), ()))
