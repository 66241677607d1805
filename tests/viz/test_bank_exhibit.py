"""One word, two meanings: each step by AppTest on small random models, its numbers computed again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tiny_models
from drawn_layers import drawn_rows
from exhibit_pages import bar_labels, drawn, said
from shown_values import states
from streamlit.testing.v1 import AppTest

import core.serving.engine
from viz.course.bert import contextual_vectors, senses
from viz.course.bert.bank import many, topics, words
from viz.course.bert.bank.params import names_of
from viz.labels import percent

SLUG = "bank."


@pytest.fixture(scope="module", autouse=True)
def engine(tmp_path_factory) -> Iterator[core.serving.engine.Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_models.MODELS, "bert-mini", ("bert", {}))
        learn = tiny_models.learn_wordpiece  # the two documents' words are whole, as the shipped model has them, so that "bank" stands at one place in both
        patch.setattr(
            tiny_models,
            "learn_wordpiece",
            lambda lines, size: learn([*lines, *senses.DOCUMENTS * len(lines)], size),
        )
        patch.setattr(
            contextual_vectors,
            "belongs",
            lambda model, word, near: [
                (name, kind, 0.1 + 0.2 * kind + 0.01 * at)
                for kind, group in enumerate(near)
                for at, name in enumerate(group)
            ],
        )
        with tiny_models.served(patch, tmp_path_factory.mktemp("models"), "bert-mini") as served:
            real = served.open
            patch.setattr(
                served, "open", lambda name, *_: real("bert-mini")
            )  # the table's cosines are given above
            yield served


def page(
    step: int = 1, *, guess: tuple[str, object] | None = None, guarded: bool = False, **link: str
) -> AppTest:
    answered = {f"predict:{SLUG}{guess[0]}": guess[1]} if guess else {}
    return drawn(
        "bank",
        {SLUG + "step": str(step)} | {SLUG + name: value for name, value in link.items()},
        answered,
        guarded=guarded,
    )


def asked(test: AppTest, name: str) -> tuple:
    return test.session_state[f"predict:{SLUG}{name}:asked"]["of"]


def commit(test: AppTest, name: str) -> AppTest:
    return test.button(key=f"predict:{SLUG}{name}:commit").click().run()


def bert():
    return core.serving.engine.default().open("bert-mini")


@pytest.mark.slow
def test_the_two_vectors_of_bank_are_covered_but_for_the_table():
    """C091."""
    found = contextual_vectors.uses(bert(), senses.DOCUMENTS, "bank")
    values = found.by_layer()
    assert values[0] == 1 and values[1] == 1 and values[-1] < 1 and found.places[0] == found.places[1]
    before = page()
    assert not before.exception and asked(before, "two")[3] == pytest.approx(max(values[-1], 0), abs=1e-5)
    assert [row["label"] for row in drawn_rows(before, mark="line")] == ["1.000"] and "farthest" not in said(
        before
    )
    told = commit(before, "two")
    assert [row["y"] for row in drawn_rows(told, mark="line")] == pytest.approx(list(values))
    assert states(said(told), "1.000 before") and f"end at {values[-1]:.3f}" in said(told)
    other = page(two="She put her money in the bank.")
    again = contextual_vectors.uses(
        bert(), (senses.DOCUMENTS[0], "She put her money in the bank."), "bank"
    ).by_layer()
    assert asked(other, "two")[3] == pytest.approx(max(again[-1], 0), abs=1e-5) and again[0] == 1 > again[1]
    same = commit(page(two=senses.DOCUMENTS[0]), "two")
    assert {row["label"] for row in drawn_rows(same, mark="line")} == {"1.000"}
    other.pills(key=SLUG + "ready").set_value("{2}: {0} / {1}".format(*words.EXAMPLES[3])).run()
    assert other.session_state["atlas.chosen"][SLUG + "word"] == "see" and not other.exception


@pytest.mark.slow
def test_the_matrix_of_many_sentences_and_the_visitors_own():
    held = senses.WORDS["bank"]
    own = "We went to the bank today."
    found = contextual_vectors.uses(bert(), [*(text for text, _ in held.uses), own], "bank")
    kinds = [kind for _, kind in held.uses]
    right = contextual_vectors.agree(found.cosines(-1)[:8, :8], kinds)
    before = page(2, own=own, layer="3")
    assert asked(before, "many.bank")[3] == right and {
        cell["label"] for cell in drawn_rows(before, "value")
    } == {"?"}
    told = commit(before, "many.bank")
    np.testing.assert_allclose(
        [cell["value"] for cell in drawn_rows(told, "value")], found.cosines(3).ravel(), atol=1e-4
    )
    same, other = contextual_vectors.kept_apart(found.cosines(3)[:8, :8], kinds)
    assert states(said(told), f"“after L1” {same:.3f}", f"{other:.3f}")
    assert states(said(told), contextual_vectors.nearest(found.cosines(3))[-1] + 1) and states(
        said(told), "9 (yours)"
    )
    table = commit(page(2, layer="0"), "many.bank")
    assert {cell["label"] for cell in drawn_rows(table, "value")} == {"1.00"}


def test_the_map_and_the_one_vector_of_the_table():
    held = senses.WORDS["letter"]
    found = contextual_vectors.uses(bert(), [text for text, _ in held.uses], "letter")
    test = page(3, which="letter", layer="2")
    places = np.array([[row["x"], row["y"]] for row in drawn_rows(test, "kind")])
    shares = np.linalg.svd(found.vectors[2] - found.vectors[2].mean(0), compute_uv=False) ** 2
    assert places.shape == (
        8,
        2,
    ) and states(said(test), percent(shares[:2].sum() / shares.sum()))
    assert [row["kind"] for row in drawn_rows(test, "kind")] == [held.meanings[kind] for _, kind in held.uses]
    at_input = {(row["x"], row["y"]) for row in drawn_rows(page(3, layer="0"), "kind")}
    assert len(at_input) == 1, "before the first layer all uses have one vector"
    before, told = page(4, which="letter"), page(4, which="letter", guess=("static.letter", "alphabet"))
    assert asked(before, "static.letter")[2] == "alphabet" and set(bar_labels(before)) == {"?"}
    means = [
        np.mean([row["value"] for row in drawn_rows(told, "value") if row["name"].endswith(f"({meaning})")])
        for meaning in held.meanings
    ]
    assert states(said(told), f"{means[0]:.3f}", "“post”", f"{means[1]:.3f}", "“alphabet”")
    same, other = contextual_vectors.kept_apart(found.cosines(-1), [kind for _, kind in held.uses])
    assert states(said(told), f"{same:.3f}", f"{other:.3f}")


@pytest.mark.slow
def test_sentences_and_what_is_nearer():
    wins = {}
    for how in contextual_vectors.HOWS:
        rows = np.array(
            [
                contextual_vectors.cosines(
                    contextual_vectors.sentences(bert(), [row.text, row.same, row.lookalike], how)
                )[0, 1:]
                for row in senses.TRIPLES
            ]
        )
        wins[how] = int((rows[:, 0] > rows[:, 1]).sum())
    before = page(5)
    classified = {how: topics.classified(how) for how in contextual_vectors.HOWS}
    assert asked(before, "whole")[3] == classified["[CLS]"].right
    told = commit(before, "whole")
    assert states(said(told), f"{wins[contextual_vectors.HOWS[1]]} of 10")
    assert all(f"{found.right} of {found.n}" in said(told) for found in classified.values())
    mine = commit(page(5, how=contextual_vectors.HOWS[2], sentence="It was very cold!"), "whole")
    texts = [text for row in senses.TRIPLES for text in (row.text, row.same, row.lookalike)]
    values = contextual_vectors.cosines(
        contextual_vectors.sentences(bert(), ["It was very cold!", *texts], contextual_vectors.HOWS[2])
    )[0, 1:]
    assert f"is nearest to “{texts[int(values.argmax())]}” ({values.max():.3f})" in said(mine)


def test_layers_are_named_by_what_they_come_after():
    assert names_of(4)[-1] == "after L1" and many.YOURS
