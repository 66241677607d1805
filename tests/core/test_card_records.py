"""What cards tell of a training and of weak places is what was recorded and what the model does."""

from __future__ import annotations

import json
import re

import pytest
from test_card_samples import COPIERS, TRANSLATORS, _scores, card, plain

import core
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.record import read_training
from core.checkpoints.scores import read_scores
from core.scoring import induction
from core.training import growth
from core.training.recipes import albert_mini, bert_mini
from viz.course.bert.albert import pairs


@pytest.mark.slow
def test_the_head_came_into_being_as_the_card_says() -> None:
    """The steps, the best head's score and the share of copies foretold then, measured anew."""
    told = plain(card("induction-tiny"))
    (before, after, score, share, later, score_later, share_later, last, score_last, share_last) = re.search(
        r"between step (\d+) and step (\d+): until then the best head has an induction score of ([\d.]+) and (\d+)% .*? (\d+) steps later it has ([\d.]+), and (\d+)% are; at step (\d+) it is ([\d.]+) and (\d+)%",
        told,
    ).groups()  # pyright: ignore[reportOptionalMemberAccess]
    assert int(later) == int(after) - int(before)
    for step, wanted, copied in (
        (before, score, share),
        (after, score_later, share_later),
        (last, score_last, share_last),
    ):
        found = induction.measure(core.open_model("induction-tiny", step=int(step)))
        assert (f"{found['induction_score']:.2f}", f"{100 * found['copied']:.0f}") == (wanted, copied), step


def test_the_loss_of_the_twin_fell_as_its_card_says() -> None:
    found = growth.read(shipped_folder() / "gpt-twin")
    assert found is not None and list(found.nats) == sorted(found.nats, reverse=True)
    (told,) = re.findall(r"to the next: (.*?\d)\.(?:\s|$)", plain(card("gpt-twin")))
    assert re.findall(r"\d\.\d{3}", told) == [f"{nats:.3f}" for nats in found.nats]
    assert found.steps[7] == int(re.findall(r"5\.977 \(step (\d+)\)", told)[0])


def test_the_course_of_a_training_is_that_of_its_record() -> None:
    """Where the loss was lowest, how many steps a first stage had, how often the texts were read."""
    log = json.loads((shipped_folder() / "translator-en-es" / "training.json").read_text())["log"]
    step, steps, nats, more = re.search(
        r"lowest at ([\d,]+) of ([\d,]+) steps \(([\d.]+) nats a token\).*?Then ([\d,]+) steps more",
        plain(card("translator-en-es")),
    ).groups()  # pyright: ignore[reportOptionalMemberAccess]
    first = [row for row in log if row["step"] <= number(steps)]
    best = min((row for row in first if "valid_nats" in row), key=lambda row: row["valid_nats"])
    assert (best["step"], f"{best['valid_nats']:.3f}") == (number(step), nats) and log[-1]["step"] == number(
        steps
    ) + number(more)
    tokens = {name: _tokens(name) for name in TRANSLATORS} | {"translator-en-es": first[-1]["tokens"]}
    passes = {
        "translator-en-es": 36,
        "bahdanau-en-es": 9,
        "rnn-en-es": 9,
        "luong-global-en-es": 13,
        "luong-local-en-es": 13,
    }
    assert all(f"about {said(times)} passes" in plain(card(name)) for name, times in passes.items())
    each = [tokens[name] / times for name, times in passes.items()]
    assert max(each) / min(each) < 1.1, "the same pairs: so many tokens a pass"
    assert f"about {said(20)} passes" in plain(card("gpt-mini")) and round(_tokens("gpt-mini") / 16.7e6) == 20
    assert (
        "this training saw 331 million" in plain(card("gpt-mini")) and round(_tokens("gpt-mini") / 1e6) == 331
    )


def number(text: str) -> int:
    return int(text.replace(",", ""))


def said(times: int) -> str:
    return {9: "nine", 13: "thirteen", 20: "twenty"}.get(times, str(times))


def _tokens(name: str) -> int:
    found = read_training(shipped_folder() / name)
    assert found is not None
    return found.tokens


def test_what_is_said_of_berts_blanks_and_pairs_is_so() -> None:
    told, trained = plain(card("bert-mini")), read_training(shipped_folder() / "bert-mini")
    first, last = map(
        int, re.search(r"Of the tokens (\d+)% are hidden at first and (\d+)% at the end", told).groups()
    )  # pyright: ignore[reportOptionalMemberAccess]
    assert trained is not None
    assert [round(100 * bert_mini.mix(step).share) for step in (0, trained.steps)] == [first, last]
    assert bert_mini.mix(0).long == 16 and bert_mini.mix(799).long < 256 == bert_mini.mix(800).long
    assert (
        "correctly in three of four cases" in told
        and round(4 * _scores("bert-mini")["next_sentence_accuracy"]) == 3
    )


def test_what_is_said_of_alberts_two_stages_is_so() -> None:
    told, trained = plain(card("albert-mini")), read_training(shipped_folder() / "albert-mini")
    assert trained is not None
    first, later = (number(steps) for steps in re.findall(r"stage has ([\d,]+) steps", told))
    assert first == albert_mini.STEPS and first + later == trained.steps
    ends = [row for row in trained.log if row["step"] in (first, trained.steps)]
    assert [f"{100 * row['order']:.1f}" for row in ends[:1]] == re.findall(
        r"([\d.]+)% of the pairs\. Each", told
    )
    tokens = [ends[0]["tokens"] / first, (trained.tokens - ends[0]["tokens"]) / later]
    assert re.findall(r"steps of about (\d+),000 tokens", told) == [f"{each / 1000:.0f}" for each in tokens]


@pytest.mark.parametrize("split", ["valid", "test"])
def test_albert_guesses_nearly_as_bert_and_tells_the_order(split: str) -> None:
    rows = {
        (score.subject, score.measure): score.value
        for score in read_scores(shipped_folder() / "albert-mini")
        if score.split == f"prose {split}"
    }
    assert rows["albert-mini", "masked_top1"] >= 0.42
    assert 0 < rows["bert-mini", "masked_top1"] - rows["albert-mini", "masked_top1"] < 0.01
    assert rows["albert-mini", "sentence_order_accuracy"] >= 0.70
    sizes = {name: core.open_model(name).n_parameters for name in ("bert-mini", "albert-mini")}
    assert 3 * sizes["albert-mini"] <= sizes["bert-mini"]
    assert "a fifth of its parameters" in plain(card("albert-mini"))
    assert round(sizes["bert-mini"] / sizes["albert-mini"]) == 5


@pytest.mark.slow
def test_alberts_order_of_our_own_stories_is_as_its_card_says() -> None:
    model, right = core.open_model("albert-mini"), 0
    found = [*pairs.neighbours(False), *pairs.neighbours(True)]
    for pair in found:
        scores = [
            model.run(first, pair=second).sentence_order
            for first, second in ((pair.first, pair.second), (pair.second, pair.first))
        ]
        one, other = (float(order[0] - order[1]) for order in scores)
        right += one > other
    (told,) = re.findall(r"of the (\d+) pairs of neighbours.*? in (\d+), little", plain(card("albert-mini")))
    assert told == (str(len(found)), str(right))


@pytest.mark.parametrize("split", ["valid", "test"])
def test_blocks_guess_hidden_words_as_all_pairs_do(split: str) -> None:
    name = f"prose {split}, passages of 512 tokens"
    rows = {
        score.subject: score.value
        for score in read_scores(shipped_folder() / "bigbird-mini")
        if (score.split, score.measure) == (name, "masked_top1")
    }
    blocks, full = rows["bigbird-mini"], rows["bigbird-mini with the full mask"]
    assert abs(full - blocks) <= 0.02 and min(blocks, full) > 0.45


def test_blocks_cost_less_where_a_text_is_long() -> None:
    """Twice the text is about twice the cost in blocks, and four times where all pairs are read."""
    found = {
        (score.subject, score.measure): score.value
        for score in read_scores(shipped_folder() / "bigbird-mini")
        if score.measure.startswith(("ms", "mb"))
    }
    blocks, full = "bigbird-mini", "bigbird-mini with the full mask"
    for what in ("ms_by_length", "mb_by_length"):
        assert 1.5 < found[blocks, f"{what}, 4096 tokens"] / found[blocks, f"{what}, 2048 tokens"] < 2.5
        assert 3 < found[full, f"{what}, 4096 tokens"] / found[full, f"{what}, 2048 tokens"] < 5
        assert found[full, f"{what}, 4096 tokens"] > 8 * found[blocks, f"{what}, 4096 tokens"]
    told = plain(card(blocks))
    assert "Up to some 300 tokens reading in blocks takes longer" in told
    for n, sign in ((256, 1), (512, -1)):
        assert (
            sign * (found[blocks, f"ms_by_length, {n} tokens"] - found[full, f"ms_by_length, {n} tokens"]) > 0
        )


@pytest.mark.parametrize("name", COPIERS)
def test_a_copier_loses_its_place_where_its_card_says(name: str) -> None:
    by_length = {
        int(key.rpartition(" ")[2]): value
        for key, value in _scores(name).items()
        if key.startswith("exact_match_by_length")
    }
    told = plain(card(name))
    if name.endswith("attention"):
        assert (
            "Beyond 20 letters" in told
            and min(value for n, value in by_length.items() if n <= 20) > 0.9 > by_length[80]
        )
    else:
        assert (
            "From about ten letters on it goes wrong" in told
            and by_length[5] > 0.9
            and max(value for n, value in by_length.items() if n >= 10) < 0.6
        )
