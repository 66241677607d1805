"""What matters: the grid is what plain runs say, the guess is the core's, patches restore what they should, links hold it all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import product

import numpy as np
import pytest
from drawn_layers import drawn_rows
from packets import opened, unpacked
from streamlit.testing.v1 import AppTest
from test_inside import forced, said
from tiny_models import served

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
from core.serving.engine import Engine
from viz.labels import head_name
from viz.number_text import signed, true_minus
from viz.workspace.importance import page as importance
from viz.workspace.importance import words, work
from viz.workspace.shared import target_picker

TEXT = "The animal was tired."
MODELS = ("tiny-gpt", "tiny-translator", "tiny-bert", "tiny-albert", "tiny-bigbird", "prompt-tiny")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with (
        pytest.MonkeyPatch.context() as patch,
        served(patch, tmp_path_factory.mktemp("models"), *MODELS) as engine,
    ):
        patch.setattr(work, "SENTENCES", 3)
        yield engine


def page(**link: str) -> AppTest:
    test = AppTest.from_string("from viz.workspace.importance import page\npage.page()", default_timeout=60)
    for key, value in link.items():
        test.query_params[key.replace("__", ".")] = value
    test.run()
    assert not test.exception
    return test


def picture(test: AppTest) -> tuple[dict, np.ndarray]:
    """The header and the numbers of the page's heatmap."""
    found = [element.proto.bytes for element in test.get("bidi_component") if element.proto.bytes]
    (packet,) = [one for one in found if "axis" in opened(one)[0]]
    return opened(packet)[0], unpacked(packet)


def asked_of(engine: Engine, model: str, text: str) -> tuple[ModelInput, OutputTarget]:
    run = forced(engine.open(model), text)
    row = default_row(run)
    return ModelInput(text, run.target_text), OutputTarget(row, int(run.logits[row].argmax()))


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("model", "text", "kind"),
    [
        ("tiny-gpt", TEXT, "causal"),
        ("tiny-translator", TEXT, "self"),
        ("tiny-translator", TEXT, "cross"),
        ("tiny-bert", "She has a [MASK] car.", "self"),
        ("tiny-albert", "She has a [MASK] car.", "self"),
    ],
)
def test_the_grid_is_what_plain_runs_say_and_the_dots_are_the_gradients_guess(engine, model, text, kind):
    test = page(model=model, text=text, kind=kind)
    item, asked = asked_of(engine, model, text)
    effects = ablation_effects(engine.open(model), item, asked, kind)
    header, values = picture(test)
    assert header["scale"] == "difference"
    np.testing.assert_allclose(values, effects, atol=1e-5)
    dots = drawn_rows(test, "x", "y", mark="point")
    assert [dot["x"] for dot in dots] == pytest.approx(
        gradient_estimates(engine.open(model), item, asked.goal, kind).ravel().tolist(), abs=1e-4
    )
    best = np.unravel_index(int(effects.argmin()), effects.shape)
    assert f"Without {head_name(int(best[0]), int(best[1]))}" in said(test) and "no other head" in said(test)


def test_the_mean_and_a_second_word_change_the_question(engine):
    model = engine.open("tiny-gpt")
    item, asked = asked_of(engine, "tiny-gpt", TEXT)
    average = mean_outputs(model, [s.text for s in default_samples(model, 3)], "causal")
    _, values = picture(page(model="tiny-gpt", text=TEXT, importance__how="mean"))
    np.testing.assert_allclose(values, ablation_effects(model, item, asked, "causal", average), atol=1e-5)
    _, values = picture(
        page(
            model="tiny-gpt", text=TEXT, importance__row="1", importance__word="40", importance__against="the"
        )
    )
    np.testing.assert_allclose(
        values, ablation_effects(model, item, OutputTarget(1, 40, model.token_id("the")), "causal"), atol=1e-4
    )
    _, values = picture(page(model="tiny-gpt", text=TEXT, importance__row="1", importance__against="was the"))
    np.testing.assert_allclose(
        values,
        ablation_effects(
            model, item, OutputTarget(1, model.token_id("was"), model.token_id("the")), "causal"
        ),
        atol=1e-4,
    )


def test_the_head_of_the_link_is_chosen_and_goes_on_to_the_other_pages(engine):
    test = page(model="tiny-gpt", text=TEXT, kind="causal", layer="1", head="2")
    header, _ = picture(test)
    assert header["selected"] == [1, 2] and "Without L1.H2" in said(test)
    for label, slug in (("[Switch L1.H2 off and watch]", "what_if"), ("[See where L1.H2 looks]", "look")):
        link = said(test).partition(f"{label}(/{slug}?")[2].partition(")")[0]
        assert {"model=tiny-gpt", "kind=causal", "layer=1", "head=2", "text=The+animal+was+tired."} <= set(
            link.split("&")
        )


@pytest.mark.slow
def test_over_many_sentences_it_is_the_rise_of_the_loss(engine):
    model = engine.open("tiny-gpt")
    _, values = picture(page(model="tiny-gpt", text=TEXT, importance__by="many"))
    np.testing.assert_allclose(values, ablation_losses(model, default_samples(model, 3), "causal"), atol=1e-5)
    for name in ("tiny-translator", "tiny-bert", "tiny-albert", "prompt-tiny"):
        assert "nats per token" in said(page(model=name, importance__by="many"))


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("model", "text", "n"),
    [
        ("tiny-gpt", TEXT, 7),
        ("tiny-translator", TEXT, 4),
        ("tiny-bert", "She has a [MASK] car.", 7),
        ("tiny-albert", "She has a [MASK] car.", 7),
    ],
)
def test_words_are_read_in_every_way_and_taken_away(engine, model, text, n):
    test = page(model=model, text=text, importance__by="words")
    header, values = picture(test)
    reader = engine.open(model)
    item, asked = asked_of(engine, model, text)
    run, kind = item.run(reader), reader.spec.kinds[-1].name
    assert len(values) == n and header["queries"][-1] == "word ablated" and not header["margins"], (
        "over methods a column has no sum"
    )
    np.testing.assert_allclose(values.sum(1), 1, atol=1e-4)
    drops = [
        asked.value(run.logits) - asked.value(item.run(reader, edits=(key_mask(reader, kind, key),)).logits)
        for key in range(values.shape[1])
    ]
    worth = np.maximum(drops, 0)
    np.testing.assert_allclose(values[-1], worth / worth.sum(), atol=1e-4)
    assert "Left out" in said(test)
    if n == 7:
        found = integrated_gradients(reader, item, asked, steps=words.STEPS)
        sizes = np.abs(found.values[: values.shape[1]])
        np.testing.assert_allclose(values[-2], sizes / sizes.sum(), atol=1e-4)
        test.session_state["fold:importance.words.equation"] = True
        assert true_minus(f"add up to {found.values.sum():.3f}; the output goes from") in said(test.run())


def parting(model: Model, clean: Run) -> Iterator[tuple[str, Pair]]:
    """Texts of as many tokens after which a random model expects another word."""
    n = len((clean.source or clean.side).ids)
    for letters in product("abcdegkmx", repeat=2):
        other = " ".join((*letters, *["a"] * (n - 2)))
        with suppress(InputError):
            yield other, make_pair(clean, model.run(other, target=clean.target_text, keep=KEEP))


def test_a_patch_restores_what_the_core_says(engine):
    """A random translator says the same whatever it reads: patches of one are tested in the core."""
    reader = engine.open("tiny-gpt")
    clean = reader.run(TEXT, keep=KEEP)
    other, pair = next(parting(reader, clean))
    test = page(model="tiny-gpt", text=TEXT, importance__by="patch", importance__other=other)
    stack = next(iter(reader.spec.stacks.values()))
    header, values = picture(test)
    wanted = [
        [restored_share(pair, position_patch(pair, stack, layer, place)) for place in range(values.shape[1])]
        for layer in range(2)
    ]
    np.testing.assert_allclose(values, wanted, atol=1e-4)
    assert header["limit"] == 1.0 and any("/" in word for word in header["keys"] or header["queries"])
    kind = reader.spec.kinds[-1].name
    _, values = picture(
        page(
            model="tiny-gpt",
            text=TEXT,
            importance__by="patch",
            importance__other=other,
            importance__part="heads",
        )
    )
    np.testing.assert_allclose(
        values,
        [
            [restored_share(pair, head_patch(pair, kind, layer, head)) for head in range(3)]
            for layer in range(2)
        ],
        atol=1e-4,
    )


def test_position_answer_foil_and_quantity_are_chosen(engine):
    reader = engine.open("tiny-gpt")
    clean, corrupted = reader.run(TEXT), reader.run("a b c d e g")
    assert len(clean.ids) == len(corrupted.ids), "the texts of this test"
    link = {
        "model": "tiny-gpt",
        "text": TEXT,
        "importance__by": "patch",
        "importance__other": "a b c d e g",
    }
    chosen = {
        "importance__patch__row": "4",
        "importance__patch__answer": "40",
        "importance__patch__foil": "7",
    }
    pair = make_pair(clean, corrupted, 4, 40, 7)
    for part, over in (("pattern", "pattern"), ("ffn", "ffn")):
        test = page(importance__part=part, **link, **chosen)
        np.testing.assert_allclose(picture(test)[1], patch_grid(pair, over), atol=1e-4)
        assert f"(logit difference {signed(pair.values[0], '+.2f')}" in said(test)
    test = page(**link, **chosen, importance__patch__words="was the")
    typed = make_pair(clean, corrupted, 4, reader.token_id("was"), reader.token_id("the"))
    np.testing.assert_allclose(picture(test)[1], patch_grid(typed), atol=1e-4)


def test_sentences_that_cannot_be_patched_are_told(engine):
    assert "equal numbers" in said(
        page(model="tiny-gpt", text=TEXT, importance__by="patch", importance__other=TEXT + " It was")
    )
    assert "same words" in said(
        page(model="tiny-gpt", text=TEXT, importance__by="patch", importance__other=TEXT)
    )


@pytest.mark.parametrize("by", ["heads", "many", "words", "patch"])
def test_the_folds_open(engine, by):
    test = page(model="tiny-gpt", text=TEXT, importance__by=by)
    for fold in ("equation", "looking", "table", "take"):
        test.session_state[f"fold:importance.{by}.{fold}"] = True
    test.run()
    assert not test.exception and len(test.dataframe) >= 1


def test_another_sentence_forgets_the_place_and_the_word(engine):
    test = page(model="tiny-gpt", text=TEXT, importance__row="1", importance__word="40")
    assert "after “" in said(test) and target_picker.choice_name(
        engine.open("tiny-gpt").run(TEXT), 40
    ) in said(test)
    test.query_params["text"] = "She has a white car."
    test.run()
    item, asked = asked_of(engine, "tiny-gpt", "She has a white car.")
    _, values = picture(test)
    np.testing.assert_allclose(
        values, ablation_effects(engine.open("tiny-gpt"), item, asked, "causal"), atol=1e-5
    )


def test_a_second_look_computes_nothing(engine, monkeypatch):
    page(model="tiny-gpt", text=TEXT)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr("core.model.Model.run", never)
    found = importance.compute(importance.Params("tiny-gpt", TEXT, kind="causal"))
    assert found.effects.shape == (2, 3)
    page(model="tiny-gpt", text=TEXT)


def test_nonsense_in_the_link_is_told(engine):
    assert "cannot be shown" in said(
        page(
            model="tiny-gpt",
            text=TEXT,
            importance__by="all",
            importance__how="twice",
            importance__row="x",
            importance__word="-4",
        )
    )
