"""What the cards print as the models' own words is what the models write now: every sample, computed anew."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

import core
from core.analysis.predictions import top_predictions
from core.analysis.residual.vectors import analogy_vector, nearest_rows
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.scores import read_scores
from core.data.texts import texts
from core.decoding import Greedy, Sample, decode
from core.model import Model
from core.scoring.translation import translate
from core.tools.card_template import remove_places

ARROW, GREEDY = " → ", Greedy()

TRANSLATORS = ("translator-en-es", "bahdanau-en-es", "luong-global-en-es", "luong-local-en-es", "rnn-en-es")

COPIERS = tuple(f"copy-{cell}{more}" for cell in ("rnn", "lstm", "gru") for more in ("", "-attention"))


@cache
def card(name: str) -> str:
    """What stands written on a card."""
    text = (shipped_folder() / name / "README.md").read_text(encoding="utf-8")
    for place in set(re.findall(r"\(computed: (\w+)\)", text)):
        text = remove_places(text, place)
    return text


def paragraphs(name: str, *begin: str) -> list[str]:
    """Its paragraphs that begin so, each as one line; at least one for each beginning."""
    found = [" ".join(part.replace("\n> ", "\n").split()) for part in card(name).split("\n\n")]
    assert all(any(part.startswith(each) for part in found) for each in begin), begin
    return [part for part in found if part.startswith(begin)]


def pairs(text: str) -> list[tuple[str, str]]:
    """`given → written / given → written`, behind what introduces them."""
    items = [item.split(ARROW) for item in text.split(" / ")]
    items[0][0] = re.split(r":(?:\*\*)? ", items[0][0], maxsplit=1)[1]
    return [(given, written) for given, written in items]


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", TRANSLATORS)
def test_a_translator_writes_what_its_card_says(name: str) -> None:
    rows = [
        tuple(cell.strip() for cell in row.strip("|").split("|"))
        for row in re.findall(r"^\|.*\|$", card(name), re.MULTILINE)
    ]
    table = [row for row in rows if row[0].endswith((".", "?"))]
    assert len(table) == 10
    told = [
        *table,
        *(
            pair
            for text in paragraphs(name, "**Five chosen,**", "**Ten from the test set")
            for pair in pairs(text)
        ),
    ]
    assert len(told) == 25
    written = translate(core.open_model(name), [english for english, _ in told])
    assert list(zip((english for english, _ in told), written, strict=True)) == told


@pytest.mark.slow
def test_the_words_that_a_card_counts_are_counted() -> None:
    """How many of the two hundred bare words come out right."""
    from test_bare_words import ROWS
    from test_bare_words import plain as bare

    (told,) = re.findall(r"(\d+) are right now", " ".join(card("translator-en-es").split()))
    written = translate(core.open_model("translator-en-es"), [word for word, _ in ROWS])
    assert sum(
        bare(out) in map(bare, right.split("|")) for (_, right), out in zip(ROWS, written, strict=True)
    ) == int(told)


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", COPIERS)
def test_a_copier_writes_what_its_card_says(name: str) -> None:
    lot, chosen = paragraphs(name, "**Samples.** Ten strings", "Five chosen:")
    told = [
        tuple(part.strip("`. ") for part in pair)
        for text in (lot, chosen)
        for pair in pairs(text.replace("wholly:", "wholly: ").replace(":  ", ": "))
    ]
    assert len(told) == 15
    written = translate(core.open_model(name), [given for given, _ in told])
    assert list(zip((given for given, _ in told), written, strict=True)) == told
    assert int(re.findall(r"(\d+) copied wholly", lot)[0]) == sum(given == out for given, out in told[:10])


def quoted(text: str) -> list[tuple[str, str]]:
    """`` `given` → `written` ``, all of them."""
    return re.findall(r"`([^`]+)` → `([^`]+)`", text)


def test_prompts_are_answered_as_the_card_says() -> None:
    model = core.open_model("prompt-tiny")
    lot, chosen = paragraphs("prompt-tiny", "**Samples.** Ten questions", "Five chosen:")
    right = 0
    for given, written in quoted(lot + chosen):
        assert written_on(model, given, 30) == written, given
        task, string = given.removesuffix(" =").split(": ")
        right += (
            given in lot
            and written == {"copy": string, "reverse": string[::-1], "upper": string.upper()}[task]
        )
    assert (
        int(re.findall(r"(\d+) answered right", lot)[0]) == right
        and len(quoted(lot)) == 10
        and len(quoted(chosen)) == 5
    )


def test_strings_are_gone_on_with_as_the_card_says() -> None:
    model = core.open_model("induction-tiny")
    lot, chosen = paragraphs("induction-tiny", "**Samples.** Ten rows", "Five chosen:")
    for given, written in quoted(lot + chosen):
        assert written_on(model, given, len(written)) == written, given
    assert len(quoted(lot)) == 10 and len(quoted(chosen)) == 5
    assert all(given.find(given[-1] + written[:-1]) >= 0 for given, written in quoted(lot)), (
        "second copies, all of them right"
    )


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["bert-mini", "bigbird-mini", "albert-mini"])
def test_blanks_are_filled_as_the_card_says(name: str) -> None:
    model, told = core.open_model(name), []
    for line in paragraphs(name, "> "):
        text, _, words = line.removeprefix("> ").rpartition(": ")
        told.append((text + ".", words))
    assert len(told) == 10
    (chosen,) = paragraphs(name, "Five chosen:")
    for part in chosen.removeprefix("Five chosen: ").split(" / "):
        text, words = re.fullmatch(r"(.*▁[^:]*): ([^(]*?\d%)\.?(?: \(.*\))?", part).groups()  # pyright: ignore[reportOptionalMemberAccess]
        told.append((text.replace("*", "") + ".", words))
    assert len(told) == 15
    for text, words in told:
        run = model.run(text.replace("▁", "[MASK]"))
        place = run.tokens.index("[MASK]")
        listed = words.split(", ")
        assert [
            f"{word.strip()} {100 * share:.0f}%" for word, share in top_predictions(run, place, len(listed))
        ] == listed, text


def written_on(model: Model, given: str, n: int, how: Greedy | Sample = GREEDY) -> str:
    """What a model writes behind a text, in `n` tokens at most."""
    read = model.tokenizer.decode(model.tokenizer.encode(given).ids)
    text = list(decode(model, given, how, max_new_tokens=n))[-1].text
    assert text.startswith(read)
    return text[len(read) :]


@pytest.mark.slow
def test_a_seed_writes_what_the_card_says() -> None:
    model = core.open_model("gpt-mini")
    rows = [line.removeprefix("> ").split(" | ") for line in paragraphs("gpt-mini", "> ")]
    assert len(rows) == 10
    for seed, (given, written) in enumerate(rows):
        assert plain(written_on(model, given, 60, Sample(0.8, top_p=0.95, seed=seed))) == written
    (chosen,) = paragraphs("gpt-mini", "Five chosen")
    found = re.findall(r"\*([^*]+)\* \((\d+)\) \| (.*?)(?= / \*|$)", chosen)
    assert len(found) == 5
    for given, seed, written in found:
        assert plain(written_on(model, given, 40, Sample(0.6, seed=int(seed)))).startswith(written.strip()), (
            given
        )


def plain(text: str) -> str:
    """In one line."""
    return " ".join(text.split())


@pytest.mark.slow
def test_a_twin_writes_what_its_card_says_and_what_it_wrote_while_it_learnt() -> None:
    how = Sample(0.8, top_k=40, top_p=0.95, seed=1)
    rows = [line.removeprefix("> ").split(" | ") for line in paragraphs("gpt-twin", "> ")]
    assert len(rows) == 10
    for given, written in rows:
        assert (
            plain(written_on(core.open_model("gpt-twin"), given, 24, how).replace("\n", " / ")) == written
        ), given
    (chosen,) = paragraphs("gpt-twin", "Five chosen")
    told, written = chosen.split(": ", 1)
    steps = [int(step) for step in re.findall(r"\d+", told)]
    assert len(steps) == len(written.split(" / ")) == 5
    for step, text in zip(steps, written.split(" / "), strict=True):
        assert plain(
            written_on(core.open_model("gpt-twin", step=step), "Once upon a time", 24, how)
        ).startswith(text.strip()), step


def test_near_words_are_those_of_the_card() -> None:
    model = core.open_model("vectors-mini")
    table, words = model.network.embed["token"].weight.detach().float().numpy(), model.tokenizer

    def near(plus: tuple[str, ...], minus: tuple[str, ...] = (), n: int = 4) -> list[str]:
        more, less = ([words.encode(word).ids[0] for word in some] for some in (plus, minus))
        vector = analogy_vector(table, more, less) if len(plus) > 1 else table[more[0]]
        return [words.token(row) for row, _ in nearest_rows(table, vector, n, exclude=(*more, *less))]

    lot, chosen, weak = paragraphs(
        "vectors-mini", "**Samples.** The four nearest", "Five chosen:", "**Weaknesses"
    )
    told = re.findall(r"\*([a-z]+)\*: ([a-z, ]+)", lot + chosen)
    assert len(told) == 13
    for word, others in told:
        assert near((word,)) == others.strip().split(", "), word
    sums = re.findall(r"([a-z]+) - ([a-z]+) \+ ([a-z]+): ([a-z, ]+)", chosen)
    assert len(sums) == 2
    for first, less, more, others in sums:
        assert near((first, more), (less,), 3) == others.strip().split(", "), first
    assert near(("bank",)) == re.findall(r"\*([a-z]+)\*", weak.partition("the nearest to *bank*")[2])[:4]
    assert _scores("vectors-mini")["queen_rank_of_all"] == 2, "behind king itself"


def _scores(name: str) -> dict[str, float]:
    return {
        score.measure: score.value for score in read_scores(shipped_folder() / name) if score.subject == name
    }


@pytest.mark.parametrize("name", ["bahdanau-en-es", "luong-local-en-es", "luong-global-en-es"])
def test_the_alignment_is_as_the_card_says(name: str) -> None:
    run = core.open_model(name).run("She has a white car.", target="Ella tiene un auto blanco.")
    seen = run.attention("alignment")
    rows = {
        spanish: seen.queries.index(f" {spanish}") - 1 for spanish in ("auto", "blanco")
    }  # a row writes the word that is read next
    weights = [
        float(seen.weights[0, 0, rows[spanish], seen.keys.index(f" {english}")])
        for spanish, english in (("auto", "car"), ("blanco", "white"))
    ]
    (told,) = paragraphs(name, "**Its heads.** It has one alignment")
    numbers = re.findall(r"0\.\d\d", told.partition("Ella tiene un auto blanco.")[2])
    if numbers:
        assert [f"{weight:.2f}" for weight in weights] == numbers[:2]
    else:
        assert "all of its weight" in told and min(weights) > 0.99


def test_the_scores_of_a_row_spread_as_the_card_says() -> None:
    model, spread = core.open_model("luong-global-en-es"), []
    for row in texts("heads_en-es"):
        scores = model.run(row.text, target=row.target, keep=("decoder.attn.scores",)).trace[
            "decoder.attn.scores"
        ]
        spread.extend(scores.reshape(-1, scores.shape[-1]).std(-1).tolist())
    (told,) = re.findall(r"standard deviation of (\d+)", plain(card("luong-global-en-es")))
    assert round(float(np.mean(spread))) == int(told)


def test_the_three_banks_are_as_near_as_the_card_says() -> None:
    model, found = core.open_model("bert-mini"), []
    (told,) = paragraphs("bert-mini", "*Bank* in")
    for text in re.findall(r"\"([^\"]+)\"", told):
        run = model.run(text)
        found.append(run.hidden("encoder")[-1][run.tokens.index("bank")])
    cosines = [
        float(found[0] @ other / np.linalg.norm(found[0]) / np.linalg.norm(other)) for other in found[1:]
    ]
    assert [f"{cosine:.2f}" for cosine in cosines] == re.findall(r"0\.\d\d", told)
