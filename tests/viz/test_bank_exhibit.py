"""One word, two meanings: its numbers computed again on a small random model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tiny_models
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, bar_labels, said
from exhibit_visits import answered
from shown_values import states

import core.serving.engine
from viz.course.bert import contextual_vectors, senses
from viz.course.bert.bank import topics
from viz.labels import percent

page = StepPages("bank", shared=())


@pytest.fixture(scope="module", autouse=True)
def engine(tmp_path_factory) -> Iterator[core.serving.engine.Engine]:
    """A random bert-mini, also for the table of words: its cosines are given."""
    learn = tiny_models.learn_wordpiece
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_models.MODELS, "bert-mini", ("bert", {}))
        patch.setattr(  # the documents' words are whole, as in the shipped model: "bank" has one place in both
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
            patch.setattr(served, "open", lambda name, *_: real("bert-mini"))
            yield served


def bert():
    return core.serving.engine.default().open("bert-mini")


@pytest.mark.slow
def test_the_two_vectors_of_bank_are_covered_but_for_the_table():
    """C091."""
    found = contextual_vectors.uses(bert(), senses.DOCUMENTS, "bank")
    values = found.by_layer()
    assert values[0] == 1 == values[1] > values[-1] and found.places[0] == found.places[1]
    before = page()
    assert [row["label"] for row in drawn_rows(before, mark="line")] == ["1.000"]
    test = answered(before)
    assert page.answer(test, "two") == pytest.approx(max(values[-1], 0), abs=1e-5)
    assert [row["y"] for row in drawn_rows(test, mark="line")] == pytest.approx(list(values))
    assert states(said(test), "1.000 before") and f"end at {values[-1]:.3f}" in said(test)
    own = "She put her money in the bank."
    again = contextual_vectors.uses(bert(), (senses.DOCUMENTS[0], own), "bank").by_layer()
    other = page(two=own)
    assert (
        page.answer(other, "two") == pytest.approx(max(again[-1], 0), abs=1e-5) and again[0] == 1 > again[1]
    )


@pytest.mark.slow
def test_the_matrix_of_many_sentences_and_the_visitors_own():
    held, own = senses.WORDS["bank"], "We went to the bank today."
    found = contextual_vectors.uses(bert(), [*(text for text, _ in held.uses), own], "bank")
    kinds = [kind for _, kind in held.uses]
    test = answered(page(2, own=own, layer=3))
    assert page.answer(test, "many.bank") == contextual_vectors.agree(found.cosines(-1)[:8, :8], kinds)
    cells = [cell["value"] for cell in drawn_rows(test, "value")]
    np.testing.assert_allclose(cells, found.cosines(3).ravel(), atol=1e-4)
    same, other = contextual_vectors.kept_apart(found.cosines(3)[:8, :8], kinds)
    assert states(said(test), f"“after L1” {same:.3f}", f"{other:.3f}")
    assert states(said(test), contextual_vectors.nearest(found.cosines(3))[-1] + 1)
    assert states(said(test), "9 (yours)")


def test_the_map_and_the_one_vector_of_the_table():
    held = senses.WORDS["letter"]
    kinds = [kind for _, kind in held.uses]
    found = contextual_vectors.uses(bert(), [text for text, _ in held.uses], "letter")
    test = page(3, which="letter", layer=2)
    shares = np.linalg.svd(found.vectors[2] - found.vectors[2].mean(0), compute_uv=False) ** 2
    assert states(said(test), percent(shares[:2].sum() / shares.sum()))
    assert [row["kind"] for row in drawn_rows(test, "kind")] == [held.meanings[kind] for kind in kinds]
    at_input = {(row["x"], row["y"]) for row in drawn_rows(page(3, layer=0), "kind")}
    assert len(at_input) == 1, "before the first layer all uses have one vector"
    before, test = page(4, which="letter"), page(4, which="letter", guess={"static.letter": "alphabet"})
    assert page.answer(before, "static.letter") == "alphabet" and set(bar_labels(before)) == {"?"}
    means = [
        np.mean([row["value"] for row in drawn_rows(test, "value") if row["name"].endswith(f"({meaning})")])
        for meaning in held.meanings
    ]
    assert states(said(test), f"{means[0]:.3f}", "“post”", f"{means[1]:.3f}", "“alphabet”")
    same, other = contextual_vectors.kept_apart(found.cosines(-1), kinds)
    assert states(said(test), f"{same:.3f}", f"{other:.3f}")


@pytest.mark.slow
def test_sentences_and_what_is_nearer():
    def cosines(texts: list[str], how: str) -> np.ndarray:
        vectors = contextual_vectors.sentences(bert(), texts, how)
        return contextual_vectors.cosines(vectors)[0, 1:]

    _, mean, last = contextual_vectors.HOWS
    rows = np.array([cosines([row.text, row.same, row.lookalike], mean) for row in senses.TRIPLES])
    classified = {how: topics.classified(how) for how in contextual_vectors.HOWS}
    test = answered(page(5))
    assert page.answer(test, "whole") == classified["[CLS]"].right
    assert states(said(test), f"{(rows[:, 0] > rows[:, 1]).sum()} of 10")
    assert all(f"{found.right} of {found.n}" in said(test) for found in classified.values())
    own, texts = (
        "It was very cold!",
        [text for row in senses.TRIPLES for text in (row.text, row.same, row.lookalike)],
    )
    values = cosines([own, *texts], last)
    mine = answered(page(5, how=last, sentence=own))
    assert f"is nearest to “{texts[int(values.argmax())]}” ({values.max():.3f})" in said(mine)
