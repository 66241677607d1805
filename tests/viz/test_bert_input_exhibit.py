"""What BERT reads: each step by AppTest on a small random model, its numbers computed again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tiny_models
from drawn_layers import drawn_rows
from exhibit_pages import covers, drawn, lanes, said, token_rows
from shown_values import states
from streamlit.testing.v1 import AppTest

import core.serving.engine
from viz.course.bert import wordpiece
from viz.course.bert.bert_input import exhibit, input_sum
from viz.course.bert.bert_input.params import WHOSE, Params
from viz.labels import percent

SLUG = "bert_input."


@pytest.fixture(scope="module", autouse=True)
def engine(tmp_path_factory) -> Iterator[core.serving.engine.Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_models.MODELS, "bert-mini", ("bert", {}))
        with tiny_models.served(patch, tmp_path_factory.mktemp("models"), "bert-mini") as served:
            yield served


def page(
    step: int = 1, *, guess: tuple[str, object] | None = None, guarded: bool = False, **link: str
) -> AppTest:
    answered = {f"predict:{SLUG}{guess[0]}": guess[1]} if guess else {}
    names = {name if name in ("text", "pair") else SLUG + name: value for name, value in link.items()}
    return drawn("bert_input", {SLUG + "step": str(step)} | names, answered, guarded=guarded)


def counted(**link: str) -> AppTest:
    """Step 3 with its number guessed."""
    return page(3, **link).button(key=f"predict:{SLUG}marks:commit").click().run()


def cells(test: AppTest, row: int, place: int = 0) -> list[str]:
    return list(token_rows(test, place).values())[row]


def looks(test: AppTest, place: int = 0) -> list[str]:
    return [f"{look['piece']}: {look['told']}" for look in drawn_rows(test, mark="rect", place=place)]


@pytest.mark.slow
def test_playing_is_cut_into_play_and_ing_and_what_follows_is_covered():
    """C081."""
    before = page()
    assert not before.exception and before.title[0].value == "BERT's input"
    assert looks(before) == ["playing: no", "playin: no", "playi: no", "play: yes", "##ing: yes"]
    assert "[UNK]" not in said(before).split("Predict")[0] and looks(before, 1) == []
    told = page(guess=("cut", "[UNK]"))
    assert "Right." in said(told) and looks(told, 1)[-1] == "##i: no"
    assert states(said(told), "7 letters", "5 lookups", "8", "2 pieces")


@pytest.mark.slow
def test_another_vocabulary_has_another_answer_and_buttons_edit_it():
    test = page(pieces="my dog play ##in ##g", word="6")
    assert test.session_state[f"predict:{SLUG}cut:asked"]["of"][
        2
    ] == "[UNK]" and "cut into play ##in ##g" in said(test)
    whole = page(pieces="he likes playing play ##ing pl ##ay", word="6")
    assert whole.session_state[f"predict:{SLUG}cut:asked"]["of"][2] == "play ##ing", (
        "without playing itself the next longest is taken"
    )
    unknown = page(pieces="he")
    assert states(said(unknown), "every letter")
    unknown.button(key=SLUG + "edit:Add all ").click().run()
    assert "p ##l ##a ##y ##i ##n ##g" in said(unknown)
    unknown.button(key=SLUG + "edit:own").click().run()
    assert "cut into play ##ing" in said(unknown)


def test_both_vocabularies_stand_beside_each_other_and_unknown_words_are_red():
    """C081."""
    test = page(2, text="my 🎉 dog", pair="playing")
    tokenizer = core.serving.engine.default().open("bert-mini").tokenizer
    assert cells(test, 1) == ["my", "[UNK]", "dog", "play|##ing"]
    assert (
        f"bert-mini's {len(tokenizer):,}: {len(tokenizer.encode('my 🎉 dog playing').tokens)} tokens, 1 unknown"
        in said(test)
    )
    assert states(said(test), "8 pieces", "5 tokens", "1 unknown")


@pytest.mark.slow
def test_the_table_of_the_documents():
    """C080."""
    before = page(3)
    assert set(cells(before, 0)) == {"?"} and "##ing" not in said(before)
    told = counted()
    assert cells(told, 0) == [
        "[CLS]",
        "my",
        "dog",
        "is",
        "cute",
        "[SEP]",
        "he",
        "likes",
        "play",
        "##ing",
        "[SEP]",
    ]
    assert cells(told, 1) == ["A"] * 6 + ["B"] * 5 and cells(told, 2) == [str(i) for i in range(11)]
    assert states(said(told), "11 tokens", "6 of text A", "5 of text B", "0 to 10")
    real = counted(whose=WHOSE[1])
    assert cells(real, 0) == list(exhibit.compute(Params()).tokens)
    one = counted(pair="")
    assert cells(one, 0)[-1] == "[SEP]" and states(said(one), "6 of text A", "0 of text B")


def test_three_vectors_and_their_sum():
    data = exhibit.compute(Params())
    assert data.exact
    test = page(4, place="3")
    for lane, vector in enumerate((*(data.parts[name][3] for name in input_sum.PARTS), data.total[3])):
        np.testing.assert_allclose(lanes(test)[lane], vector[:16], atol=6e-4)
    a, b, c, total = (f"{float(v[3][0]):.4f}".replace("-", "−") for v in (*data.parts.values(), data.total))
    assert f"First number: {a} + {b} + {c} = {total}." in said(test) and "last bit" in said(test)


def test_one_of_the_three_is_switched_off():
    model = core.serving.engine.default().open("bert-mini")
    found = {part: input_sum.ablate(model, *wordpiece.EXAMPLE, part) for part in input_sum.PARTS}
    before, told = page(5), page(5, guess=("off", "position embedding"), off="segment")
    answer = max(found, key=lambda part: found[part].turned.mean())
    assert (
        before.session_state[f"predict:{SLUG}off:asked"]["of"][2]
        == {"token": "token embedding", "segment": "segment embedding", "position": "position embedding"}[
            answer
        ]
    )
    assert lanes(before) == [] and covers(before)
    np.testing.assert_allclose(lanes(told)[1], found["segment"].turned, atol=6e-4)
    assert states(said(told), f"{found['segment'].turned.mean():.3f}")
    assert states(said(told), percent(found["segment"].follows[0]), percent(found["segment"].follows[1]))
