"""A guess is worth the product of its pieces, and the end of the word; against decoding by force and sums over tokens."""

from __future__ import annotations

import math

import numpy as np
import pytest

import core
from core.decoding import decode
from core.reading import bounds
from tests.core.decoding_helpers import build
from viz.course.shared.guessing import READS, Round, played, score, score_sentence
from viz.workspace.decode.choices import choices


@pytest.fixture(scope="module")
def gpt():
    return build("gpt")


@pytest.mark.parametrize(
    ("text", "word", "joined"),
    [
        ("the old", "cat", " cat"),
        ("the old ", "cat", " cat"),
        ("the old", "  cat ", " cat"),
        ("", "the", "the"),
        ("the\n", "old", "old"),
        ("the cat", ".", "."),
        ("the cat", "'s", "'s"),
        ('"', "the", "the"),
        ('"the"', "cat", " cat"),
        ("the", '"old', ' "old'),
        ('"the', '"', '"'),
        ("old (", "cat", "cat"),
        ("the", "(old", " (old"),
        ("the old", "gatobl", " gatobl"),
        ("the old", "año", " año"),
    ],
)
def test_a_guess_is_the_product_of_its_pieces(gpt, text, word, joined):
    found = Round(gpt, text).probability_of(word)
    ids = gpt.tokenizer.encode(joined).ids
    assert (
        found.ids == ids
        and "".join(gpt.tokenizer.decode([index]) for index in ids if "‹" not in gpt.tokenizer.token(index))
        in joined
    )
    steps = list(decode(gpt, text.removesuffix(" "), max_new_tokens=len(ids), force=list(enumerate(ids))))
    assert found.logprobs == pytest.approx([step.logprob for step in steps], abs=1e-4)
    assert found.begins == pytest.approx(math.exp(sum(step.logprob for step in steps)), rel=1e-3)
    assert found.pieces == tuple(step.token for step in steps)
    assert found.bits == pytest.approx(-math.log2(found.p)) and found.chance == pytest.approx(
        len(ids) * math.log2(gpt.config.n_vocab)
    )
    assert Round(gpt, text).went_on(word) == text.removesuffix(" ") + joined


def test_a_word_ends_where_no_letter_follows(gpt):
    game = Round(gpt, "the old")
    found, behind = game.probability_of("cat"), Round(gpt, "the old cat").distribution
    letters = [index for index in range(3, gpt.config.n_vocab) if gpt.tokenizer.token(index)[0].isalnum()]
    assert 0 < found.closes < 1 and found.closes == pytest.approx(1 - sum(behind[letters]), abs=1e-5)
    assert found.p == found.begins * found.closes and game.probability_of(".").closes == 1.0


def test_the_distribution_is_that_of_decoding_and_sums_to_one(gpt):
    game = Round(gpt, "the old cat")
    step = next(iter(decode(gpt, "the old cat")))
    assert game.distribution.shape == (gpt.config.n_vocab,) and game.distribution.sum() == pytest.approx(1)
    assert game.likeliest(5) == [
        (each.token, pytest.approx(each.before, abs=1e-5)) for each in step.candidates[:5]
    ]


@pytest.mark.parametrize("text", ["the old", "a white car", "el gato", ""])
def test_the_models_own_guess_is_greedy_until_the_word_is_over(gpt, text):
    own = Round(gpt, text).model_guess
    steps = list(decode(gpt, text, max_new_tokens=len(own.ids)))
    assert own.ids == tuple(step.id for step in steps)[: len(own.ids)] and own.logprobs == pytest.approx(
        [step.logprob for step in steps]
    )
    assert all(piece[:1].isalnum() for piece in own.pieces[1:]) and 0 < own.p <= own.begins


def test_scores_add_up_and_are_told(gpt):
    game = Round(gpt, "the old")
    history = [played(game, "cat"), played(Round(gpt, game.went_on("cat")), "sat")]
    same = played(game, game.model_guess.text) if game.model_guess.text.isalnum() else history[0]
    now = score(history)
    assert (now.rounds, now.agreements) == (
        2,
        sum(each.guess.ids == each.model_guess.ids for each in history),
    )
    assert now.you == pytest.approx(
        sum(each.guess.bits for each in history)
    ) and now.bits_behind == pytest.approx(now.you - now.model)
    assert now.chance == pytest.approx(
        sum(len(each.guess.ids) for each in history) * math.log2(gpt.config.n_vocab)
    )
    assert score_sentence(history).startswith(f"After 2 rounds: your words cost {now.you:.1f} bits")
    assert score_sentence([]) == "No round has been played."
    assert score_sentence([same]).startswith("After 1 round: ")


def test_a_long_text_is_read_from_its_end(gpt):
    game = Round(gpt, "the old cat sat on " * 20)
    assert game.window.tokens <= gpt.config.n_ctx - 12 < game.window.total
    assert 0 < game.probability_of("the").p < 1


def test_what_a_round_reads_is_bounded_by_what_it_costs(mini):
    game = Round(mini, "The cat sat on a mat. " * 200)
    assert game.window.tokens == bounds.token_limit(mini, runs=READS) < mini.config.n_ctx - 12
    assert len(game.prompt.ids) - game.prompt.hidden == game.window.tokens and game.text.endswith(
        game.window.text + " "
    )


@pytest.mark.parametrize("guess", ["", "   ", "the\ncat", "\ncat", "the cat", "zq" * 40])
def test_guesses_that_are_no_word_are_said(gpt, guess):
    with pytest.raises(core.InputError):
        Round(gpt, "the old").probability_of(guess)


def test_a_model_that_reads_a_source_does_not_play():
    with pytest.raises(core.InputError):
        Round(build("transformer"), "the old")


# words to choose from


@pytest.fixture(scope="module")
def mini():
    return core.open_model("gpt-mini")


TEXTS = (
    "Once upon a time there was a",
    "The king said to the",
    "She opened the door and",
    "He",
    "In the morning they went to the old",
    '"Come here," said',
    "It was a dark and",
    "a b c d",
)


@pytest.mark.quick(2)
@pytest.mark.parametrize("text", TEXTS)
def test_choices_are_words_of_different_ranks_the_models_own_among_them(mini, text):
    game = Round(mini, text)
    found = choices(game)
    assert (
        4 <= len(found) <= 6
        and len(set(found)) == len(found)
        and (game.model_guess.text in found or text == "a b c d")
    )  # where it would finish a word
    others = [game.probability_of(word) for word in found if word != game.model_guess.text]
    names = {(int(i),): game.prompt.name(int(i)).strip() for i in np.argsort(-game.distribution)}
    whole = [
        ids
        for ids, word in names.items()
        if len(word.split()) == 1 and mini.tokenizer.encode(game._glue(word) + word).ids == ids
    ]
    ranks = sorted(1 + whole.index(each.ids) for each in others)
    assert all(len(each.ids) == 1 for each in others) and ranks[-1] > 27
    bands = [next(band for band in range(6) if rank <= 3**band) for rank in ranks]
    assert len(set(bands)) == len(bands)  # rank 2 or 3, 4 to 9, 10 to 27, and so on


@pytest.mark.slow
def test_equal_texts_offer_equal_words_and_their_place_tells_nothing(mini):
    games = [
        Round(mini, text)
        for text in (*TEXTS[:-1], *(f"{text} very" for text in TEXTS), *(f"{text} the" for text in TEXTS))
    ]
    assert all(choices(game) == choices(Round(mini, game.text)) for game in games[:3])
    best = [
        choices(game).index(game.model_guess.text) for game in games if game.model_guess.text in choices(game)
    ]
    assert len(best) > len(games) - 4
    assert len(set(best)) >= 4
    assert max(best.count(place) for place in best) < len(best) / 2
