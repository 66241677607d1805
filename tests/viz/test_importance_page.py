"""What matters: the grid is what plain runs say, the guess is the core's, patches restore what they should, links hold it all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import product

import numpy as np
import pytest
from drawn_layers import drawn_rows
from streamlit.testing.v1 import AppTest
from test_inside import TEXT, forced
from tiny_models import serving
from workspace_pages import again, header, matrix, page, said

from core.analysis.attribution.ablation_sweep import (
    ModelInput,
    ablation_effects,
    default_samples,
    gradient_estimates,
)
from core.analysis.attribution.importance import ablation_losses
from core.analysis.attribution.integrated_gradients import integrated_gradients
from core.analysis.attribution.means import mean_outputs
from core.analysis.attribution.patching import (
    KEEP,
    Pair,
    head_patch,
    make_pair,
    patch_grid,
    position_patch,
    restored_share,
)
from core.analysis.attribution.target_token import OutputTarget, default_row
from core.analysis.attribution.token_importance import key_mask
from core.errors import InputError
from core.model import Model
from core.run import Run
from viz.labels import head_name
from viz.number_text import signed, true_minus
from viz.workspace.importance import page as importance
from viz.workspace.importance import words, work

MODELS = ("tiny-gpt", "tiny-translator", "tiny-bert", "tiny-albert", "tiny-bigbird", "prompt-tiny")
BLANK = "She has a [MASK] car."


engine = serving(*MODELS, changed=[(work, "SENTENCES", 3)])


def matters(**link: str) -> AppTest:
    return page("importance", **{"model": "tiny-gpt", "text": TEXT} | link)


def grid(**link: str) -> np.ndarray:
    """The numbers of the page's heatmap."""
    return matrix(matters(**link), "axis")


def asked_of(model: Model, text: str) -> tuple[ModelInput, OutputTarget]:
    run = forced(model, text)
    row = default_row(run)
    return ModelInput(text, run.target_text), OutputTarget(row, int(run.logits[row].argmax()))


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("tiny-gpt", TEXT, "causal"),
        ("tiny-translator", TEXT, "self"),
        ("tiny-translator", TEXT, "cross"),
        ("tiny-bert", BLANK, "self"),
        ("tiny-albert", BLANK, "self"),
    ],
)
def test_the_grid_is_what_plain_runs_say_and_the_dots_are_the_gradients_guess(engine, name, text, kind):
    test, model = matters(model=name, text=text, kind=kind), engine.open(name)
    item, asked = asked_of(model, text)
    effects = ablation_effects(model, item, asked, kind)
    assert header(test, "axis")["scale"] == "difference"
    np.testing.assert_allclose(matrix(test, "axis"), effects, atol=1e-5)
    estimates = gradient_estimates(model, item, asked.goal, kind).ravel().tolist()
    assert [dot["x"] for dot in drawn_rows(test, "x", "y", mark="point")] == pytest.approx(
        estimates, abs=1e-4
    )
    best = np.unravel_index(int(effects.argmin()), effects.shape)
    assert f"Without {head_name(*map(int, best))}" in said(test) and "no other head" in said(test)


def test_the_mean_and_a_second_word_change_the_question(engine):
    model = engine.open("tiny-gpt")
    item, asked = asked_of(model, TEXT)
    was, the = map(model.token_id, ("was", "the"))
    average = mean_outputs(model, [s.text for s in default_samples(model, 3)], "causal")
    for link, wanted in (
        ({"how": "mean"}, (asked, "causal", average)),
        ({"row": "1", "word": "40", "against": "the"}, (OutputTarget(1, 40, the), "causal")),
        ({"row": "1", "against": "was the"}, (OutputTarget(1, was, the), "causal")),
    ):
        values = grid(**{f"importance__{name}": value for name, value in link.items()})
        np.testing.assert_allclose(values, ablation_effects(model, item, *wanted), atol=1e-4)


def test_the_head_of_the_link_is_chosen_and_goes_on_to_the_other_pages(engine):
    test = matters(kind="causal", layer="1", head="2")
    assert header(test, "axis")["selected"] == [1, 2] and "Without L1.H2" in said(test)
    for slug in ("what_if", "look"):
        link = said(test).partition(f"](/{slug}?")[2].partition(")")[0]
        place = {"model=tiny-gpt", "kind=causal", "layer=1", "head=2", "text=The+animal+was+tired."}
        assert place <= set(link.split("&"))


@pytest.mark.slow
def test_over_many_sentences_it_is_the_rise_of_the_loss(engine):
    model = engine.open("tiny-gpt")
    losses = ablation_losses(model, default_samples(model, 3), "causal")
    np.testing.assert_allclose(grid(importance__by="many"), losses, atol=1e-5)
    for name in ("tiny-translator", "tiny-bert", "tiny-albert", "prompt-tiny"):
        assert "nats per token" in said(page("importance", model=name, importance__by="many"))


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("name", "text", "n"),
    [("tiny-gpt", TEXT, 7), ("tiny-translator", TEXT, 4), ("tiny-bert", BLANK, 7), ("tiny-albert", BLANK, 7)],
)
def test_words_are_read_in_every_way_and_taken_away(engine, name, text, n):
    test, model = matters(model=name, text=text, importance__by="words"), engine.open(name)
    head, values = header(test, "axis"), matrix(test, "axis")
    item, asked = asked_of(model, text)
    run, kind = item.run(model), model.spec.kinds[-1].name
    assert len(values) == n and head["queries"][-1] == "word ablated"
    assert not head["margins"], "over methods a column has no sum"
    np.testing.assert_allclose(values.sum(1), 1, atol=1e-4)
    without = (item.run(model, edits=(key_mask(model, kind, key),)) for key in range(values.shape[1]))
    worth = np.maximum([asked.value(run.logits) - asked.value(other.logits) for other in without], 0)
    np.testing.assert_allclose(values[-1], worth / worth.sum(), atol=1e-4)
    assert "Left out" in said(test)
    if n == 7:
        found = integrated_gradients(model, item, asked, steps=words.STEPS)
        sizes = np.abs(found.values[: values.shape[1]])
        np.testing.assert_allclose(values[-2], sizes / sizes.sum(), atol=1e-4)
        test.session_state["fold:importance.words.equation"] = True
        assert true_minus(f"add up to {found.values.sum():.3f}") in said(again(test))


def parting(model: Model, clean: Run) -> Iterator[tuple[str, Pair]]:
    """Texts of as many tokens after which a random model expects another word."""
    n = len((clean.source or clean.side).ids)
    for letters in product("abcdegkmx", repeat=2):
        other = " ".join((*letters, *["a"] * (n - 2)))
        with suppress(InputError):
            yield other, make_pair(clean, model.run(other, target=clean.target_text, keep=KEEP))


def test_a_patch_restores_what_the_core_says(engine):
    """A random translator says the same whatever it reads: patches of one are tested in the core."""
    model = engine.open("tiny-gpt")
    other, pair = next(parting(model, model.run(TEXT, keep=KEEP)))
    link = {"importance__by": "patch", "importance__other": other}
    test, stack = matters(**link), next(iter(model.spec.stacks.values()))
    head, values = header(test, "axis"), matrix(test, "axis")
    patches = [
        [position_patch(pair, stack, layer, place) for place in range(values.shape[1])] for layer in range(2)
    ]
    wanted = [[restored_share(pair, patch) for patch in row] for row in patches]
    np.testing.assert_allclose(values, wanted, atol=1e-4)
    assert head["limit"] == 1.0 and any("/" in word for word in head["keys"] or head["queries"])
    heads = [[head_patch(pair, "causal", layer, head) for head in range(3)] for layer in range(2)]
    wanted = [[restored_share(pair, patch) for patch in row] for row in heads]
    np.testing.assert_allclose(grid(importance__part="heads", **link), wanted, atol=1e-4)


def test_position_answer_foil_and_quantity_are_chosen(engine):
    model, other = engine.open("tiny-gpt"), "a b c d e g"
    clean, corrupted = model.run(TEXT), model.run(other)
    assert len(clean.ids) == len(corrupted.ids), "the texts of this test"
    link = {"by": "patch", "other": other, "patch.row": "4", "patch.answer": "40", "patch.foil": "7"}
    link = {f"importance.{name}": value for name, value in link.items()}
    pair = make_pair(clean, corrupted, 4, 40, 7)
    for part in ("pattern", "ffn"):
        test = matters(importance__part=part, **link)
        np.testing.assert_allclose(matrix(test, "axis"), patch_grid(pair, part), atol=1e-4)
        assert f"(logit difference {signed(pair.values[0], '+.2f')}" in said(test)
    typed = make_pair(clean, corrupted, 4, model.token_id("was"), model.token_id("the"))
    values = grid(**link, importance__patch__words="was the")
    np.testing.assert_allclose(values, patch_grid(typed), atol=1e-4)


def test_sentences_that_cannot_be_patched_are_told(engine):
    for other, why in ((TEXT + " It was", "equal numbers"), (TEXT, "same words")):
        assert why in said(matters(importance__by="patch", importance__other=other))


@pytest.mark.parametrize("by", ["heads", "many", "words", "patch"])
def test_the_folds_open(engine, by):
    test = matters(importance__by=by)
    for fold in ("equation", "looking", "table", "take"):
        test.session_state[f"fold:importance.{by}.{fold}"] = True
    assert len(again(test).dataframe) >= 1


def test_another_sentence_forgets_the_place_and_the_word(engine):
    test, other = matters(importance__row="1", importance__word="40"), "She has a white car."
    assert "after “" in said(test)
    test.query_params["text"] = other
    model = engine.open("tiny-gpt")
    wanted = ablation_effects(model, *asked_of(model, other), "causal")
    np.testing.assert_allclose(matrix(again(test), "axis"), wanted, atol=1e-5)


def test_a_second_look_computes_nothing(engine, monkeypatch):
    matters()
    monkeypatch.setattr("core.model.Model.run", lambda *_, **__: pytest.fail("computed again"))
    found = importance.compute(importance.Params("tiny-gpt", TEXT, kind="causal"))
    assert found.effects.shape == (2, 3)
    matters()


def test_nonsense_in_the_link_is_told(engine):
    odd = {"by": "all", "how": "twice", "row": "x", "word": "-4"}
    assert "cannot be shown" in said(matters(**{f"importance.{name}": value for name, value in odd.items()}))
