"""Word vectors: counts and loss against sums written out, the documents' king and queen, one vector in every sentence."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from core.analysis.residual.vectors import analogy_vector, cosine_rank, nearest_rows
from core.data.texts import FOLDER
from core.errors import InputError
from core.model import Model
from core.models import families
from core.text import Tokenizer
from core.text.learn import learn_word_list
from core.tools.evaluate import evaluate
from core.training.recipes import vectors_mini
from core.training.recipes.vectors_mini import RECIPE, Surroundings, encode_texts, expected_pairs

CPU = torch.device("cpu")
TEXT = [
    "The king sat by the queen.",
    "A man saw a woman by the sea, the king saw it.",
    "=== book",
    "the queen saw the man",
]


def tokenizer(n_vocab: int = 29) -> Tokenizer:
    return Tokenizer(
        learn_word_list((line for line in TEXT if not line.startswith("=")), n_vocab), **vectors_mini.IDS
    )


def surroundings() -> Surroundings:
    text = tokenizer()
    ids = encode_texts(TEXT, text)
    return Surroundings(ids, ids[:30], text, 0, CPU)


def model(table: np.ndarray, text: Tokenizer) -> Model:
    made = families()["skipgram"]
    config = replace(made.config.tiny(), n_vocab=len(table), d_model=table.shape[1])
    network = made.network(config)
    network.embed["token"].weight.data = torch.from_numpy(table).float()
    torch.nn.init.normal_(network.embed["around"].weight)
    return Model("tiny-vectors", made, config, network, text)


# ------------------------------------------------------------------ counts and loss


def test_pairs_are_those_of_two_loops():
    rng, window = np.random.default_rng(0), RECIPE.config.window
    ids, kept = rng.integers(0, 7, 200), rng.random(7)
    kept[0] = 0.0
    wanted = np.zeros((7, 7))
    for i in range(200):
        for j in range(max(0, i - window), min(200, i + window + 1)):
            if i != j:
                wanted[ids[i], ids[j]] += (window + 1 - abs(i - j)) / window * kept[ids[i]] * kept[ids[j]]
    np.testing.assert_allclose(expected_pairs(ids, kept), wanted, rtol=1e-5)


def test_no_pair_reaches_from_one_text_into_the_next():
    text = tokenizer()
    ids = encode_texts(TEXT, text)
    counts = expected_pairs(ids, np.array([0.0] + [1.0] * (len(text) - 1)))
    it, queen, sea = (text.encode(word).ids[0] for word in ("it", "queen", "sea"))
    assert counts[it, queen] == 0 < counts[it, text.encode("king").ids[0]]
    assert counts[sea, text.encode("woman").ids[0]] == pytest.approx((5 + 1 - 3) / 5)


def test_the_loss_is_the_mean_over_pairs_one_by_one():
    task = surroundings()
    network = families()["skipgram"].network(replace(RECIPE.config, n_vocab=len(task.tokenizer), d_model=6))
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.7)
    network.requires_grad_(False)
    words = torch.tensor([3, 1, 5])
    lost = weight = 0.0
    for word in words.tolist():
        scores = network.embed["around"].weight @ network.embed["token"].weight[word] + network.bias
        for around, count in enumerate(task.train[word].tolist()):
            lost -= count * math.log(float(scores.softmax(0)[around]))
            weight += count
    assert float(task.loss(network, words)) == pytest.approx(lost / weight, rel=1e-5)


def test_a_pass_shows_each_word_that_has_surroundings_once(monkeypatch):
    monkeypatch.setattr(vectors_mini, "ROWS", 4)
    task = surroundings()
    per_pass = -(-len(task.words) // 4)
    for turn in range(2):
        shown = [i for step in range(per_pass) for i in task.batch(turn * per_pass + step)[0].tolist()]
        assert sorted(shown) == task.words.tolist()
    assert vectors_mini.UNKNOWN not in task.words


# ------------------------------------------------------------------ near words, king and queen


def test_the_nearest_are_those_of_a_loop_over_cosines():
    table = np.random.default_rng(1).normal(size=(40, 6))
    by_hand = sorted(
        range(40), key=lambda i: -float(table[i] @ table[7]) / math.hypot(*table[i]) / math.hypot(*table[7])
    )
    assert [row for row, _ in nearest_rows(table, table[7], 10)] == by_hand[:10]
    assert by_hand[0] == 7 and nearest_rows(table, table[7], 1)[0][1] == pytest.approx(1)
    assert [row for row, _ in nearest_rows(table, table[7], 3, exclude=by_hand[:2])] == by_hand[2:5]
    assert [cosine_rank(table, table[7], row, exclude=[7]) for row in by_hand[1:4]] == [1, 2, 3]


ROYAL, MALE, FEMALE, PERSON = np.eye(4)
MEANING = {
    "king": ROYAL + MALE,
    "queen": ROYAL + FEMALE,
    "man": PERSON + MALE,
    "woman": PERSON + FEMALE,
    "sea": PERSON + ROYAL,
}


def royal() -> Model:
    text = tokenizer()
    table = np.random.default_rng(0).normal(size=(len(text), 4)) * 1e-3 - 1.0
    for word, vector in MEANING.items():
        table[text.encode(word).ids[0]] = vector
    return model(table, text)


def test_king_minus_man_plus_woman_is_queen_where_meaning_is_exact(tmp_path):
    made = royal()
    table = made.network.embed["token"].weight.numpy()
    king, man, woman, queen = (
        made.tokenizer.encode(word).ids[0] for word in ("king", "man", "woman", "queen")
    )
    there = analogy_vector(table, (king, woman), (man,))
    assert nearest_rows(table, there, 1) == [(queen, pytest.approx(1, abs=1e-6))]
    file = tmp_path / "pairs.tsv"
    file.write_text(
        "group\tfirst\tsecond\nroyal\tman\tking\nroyal\twoman\tqueen\nroyal\tking\tdragon\n", encoding="utf-8"
    )
    found = evaluate(made, file)
    assert found["items"] == 2 and found["unknown"] == 1
    assert found["analogy_top1"] == 1.0
    assert found["median_rank"] == 1.0
    assert found["top1_by_group"] == {"royal": 1.0}
    assert found["queen_rank"] == found["queen_rank_of_all"] == 1.0 and found[
        "queen_cosine"
    ] == pytest.approx(1, abs=1e-4)


def test_a_wrong_table_is_told_apart(tmp_path):
    made = royal()
    table = made.network.embed["token"].weight
    queen, sea = (made.tokenizer.encode(word).ids[0] for word in ("queen", "sea"))
    table.data[[queen, sea]] = table.data[[sea, queen]]
    file = tmp_path / "pairs.tsv"
    file.write_text("group\tfirst\tsecond\nroyal\tman\tking\nroyal\twoman\tqueen\n", encoding="utf-8")
    found = evaluate(made, file)
    assert found["queen_rank"] > 1 and found["analogy_top1"] < 1


def test_pairs_without_known_words_ask_nothing(tmp_path):
    file = tmp_path / "pairs.tsv"
    file.write_text("group\tfirst\tsecond\nx\tdragon\ttroll\n", encoding="utf-8")
    with pytest.raises(InputError, match="has no question"):
        evaluate(royal(), file)
    (tmp_path / "bare.tsv").write_text("a\tb\tc\n", encoding="utf-8")
    with pytest.raises(InputError, match="first line"):
        evaluate(royal(), tmp_path / "bare.tsv")


def test_our_word_pairs_ask_whole_words():
    rows = [line.split("\t") for line in (FOLDER / "word_pairs.tsv").read_text("utf-8").splitlines()[1:]]
    assert len({tuple(row) for row in rows}) == len(rows) >= 150
    assert all(first != second and first.isalpha() and second.isalpha() for _, first, second in rows)


# ------------------------------------------------------------------ a run


def test_a_word_has_the_same_vector_in_every_sentence_and_looks_at_none():
    made = royal()
    one, other = made.run("The king saw the sea."), made.run("A man by the King!")
    king = [run.ids.index(made.tokenizer.encode("king").ids[0]) for run in (one, other)]
    assert np.array_equal(one.trace["embed.token"][king[0]], other.trace["embed.token"][king[1]])
    assert np.array_equal(one.logits[king[0]], other.logits[king[1]])
    assert one.kinds == ()
    for wrong, asked in (("no attention", one.attention), ("no layers", one.hidden)):
        with pytest.raises(InputError, match=wrong):
            asked()


def test_whole_words_are_the_most_frequent_and_others_unknown():
    text = tokenizer(6)
    assert text.encode("The king saw THE dragon.").tokens[0] == "the"
    assert text.encode("dragon").ids == (0,) and text.token(0) == "[UNK]"
    assert len(text) == 6
