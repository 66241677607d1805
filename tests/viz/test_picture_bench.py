"""The pages of the bench with vit-doodles and mae-doodles: what is drawn and said is what `run` computes on the doodle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from packets import opened
from shown_values import states
from test_links import refused
from workspace_pages import linked, matrices, matrix, said, sent
from workspace_pages import page as visited

import core
from core.analysis.attention.aggregate import rollout
from core.analysis.attribution import ablation_sweep, erasing
from core.analysis.attribution.ablation_sweep import ModelInput
from core.analysis.attribution.importance import mean_loss
from core.analysis.attribution.integrated_gradients import integrated_gradients
from core.analysis.attribution.patching import KEEP, make_pair, position_patch, restored_share
from core.analysis.attribution.target_token import OutputTarget
from core.analysis.attribution.token_importance import input_gradient, key_mask
from core.analysis.heads.pattern_distance import compare_patterns, jensen_shannon
from core.data import doodles
from core.data.doodles import as_text
from core.data.drawings import example_drawings
from core.data.patches import with_hidden_mark
from core.data.texts import Example
from core.edits import ZeroHead
from core.edits.serialize import from_text, to_text
from core.maths import softmax
from core.model import Model
from viz.labels import literal, percent
from viz.shell import pages
from viz.widgets import pins
from viz.widgets.pins import View
from viz.workspace.find import pool

FISH, CAT = (doodles.as_text(doodles.example(name)) for name in ("fish", "cat"))
NAME = "vit-doodles"


@pytest.fixture(scope="module")
def model() -> Model:
    return core.open_model(NAME)


@pytest.fixture(scope="module")
def asked(model: Model) -> OutputTarget:
    return OutputTarget(0, int(model.run(FISH, keep=()).classes.argmax()))


def page(slug: str, **link: str) -> Any:
    return visited(slug, **{"model": NAME, "text": FISH} | link)


def pictures(test: Any) -> dict[str, tuple[dict[str, Any], np.ndarray]]:
    """Header and numbers of every picture of patches, by its title."""
    heads = [opened(packet)[0] for packet in sent(test, "cells", "asks")]
    numbers = matrices(test, "cells", "asks")
    return {head["title"]: (head, values) for head, values in zip(heads, numbers, strict=True)}


@pytest.mark.parametrize("slug", ["what_if", "importance"])
def test_a_model_that_says_nothing_is_told_and_its_drawing_is_kept(slug: str) -> None:
    test = page(slug, model="mae-doodles")
    assert refused(test) and "hidden patches" in said(test)
    assert [button.label for button in test.button if "Read it" in button.label] == [
        f"Read it with {literal(NAME)}"
    ]
    assert not test.text_input, "a drawing is not shown as letters"


def test_what_each_head_does_for_a_class_is_what_plain_runs_say(model: Model, asked: OutputTarget) -> None:
    test = page("importance")
    found = matrix(test, "axis")
    effects = ablation_sweep.ablation_effects(model, ModelInput(FISH), asked, "self")
    np.testing.assert_allclose(found, effects, atol=1e-5)
    other = page("importance", importance__word="2", importance__other="4")
    wanted = ablation_sweep.ablation_effects(model, ModelInput(FISH), OutputTarget(0, 2, 4), "self")
    np.testing.assert_allclose(matrix(other, "axis"), wanted, atol=1e-4)
    assert states(said(other), "“cat”", "“eye”")


@pytest.mark.slow
def test_over_many_drawings_it_is_the_rise_of_the_loss_of_their_classes(model: Model) -> None:
    test = page("importance", importance__by="many")
    found = matrix(test, "axis")
    read = ablation_sweep.default_samples(model, 24)
    assert {sample.truth for sample in read} == set(doodles.NAMES) and len(read) == 24
    without = ZeroHead("encoder.layer.1.self_attn.heads", 2)
    rise = mean_loss(model, read, (without,)) - mean_loss(model, read)
    assert found[1, 2] == pytest.approx(rise, abs=1e-4)
    chances = [softmax(model.run(row.text, keep=()).classes) for row in read]
    truth = [model.config.classes.index(row.truth) for row in read]
    plain = -np.log([p[i] for p, i in zip(chances, truth, strict=True)]).mean()
    assert mean_loss(model, read) == pytest.approx(plain, abs=1e-5)


@pytest.mark.slow
def test_patches_are_read_in_every_way_and_erased(model: Model, asked: OutputTarget) -> None:
    test = page("importance", importance__by="words")
    ((head, values),) = pictures(test).values()
    assert head["cells"] == [7, 7] and head["form"] == "all" and head["special"] == 1
    found = dict(zip(head["asks"], values, strict=True))
    run, item = model.run(FISH), ModelInput(FISH)
    weights = run.attention("self").weights
    plain = asked.value(run.scores)

    def share(numbers: np.ndarray) -> np.ndarray:
        return numbers / numbers.sum()

    def without(edit: Any) -> float:
        return plain - asked.value(item.run(model, keep=(), edits=(edit,)).scores)

    wanted = {
        "attention": share(weights[-1, :, 0].mean(0)),
        "rollout": share(rollout(weights)[-1, 0]),
        "gradient × input": input_gradient(model, item, asked),
        "integrated gradients": share(np.abs(integrated_gradients(model, item, asked, steps=32).values)),
        "patch painted over": share(
            np.maximum([0, *(without(erasing.patch_occlusion(model, key)) for key in range(1, 50))], 0)
        ),
        "patch ablated": share(np.maximum([without(key_mask(model, "self", key)) for key in range(50)], 0)),
    }
    for name, numbers in wanted.items():
        np.testing.assert_allclose(found[name], numbers, atol=2e-3, err_msg=name)
    assert states(said(test), "Left out", "“row")


@pytest.mark.slow
def test_erased_in_an_order_is_said_as_the_core_measures_it(model: Model, asked: OutputTarget) -> None:
    test = page("importance", importance__by="words")
    test.session_state["fold:importance.words.erasing"] = True
    test.run()
    values = model.run(FISH).attention("self").weights[-1, :, 0].mean(0)
    counts = erasing.deletion_counts(49)
    curve = erasing.deletion_curve(model, ModelInput(FISH), asked, "self", values, counts)
    blank = model.run(doodles.as_text(np.zeros((28, 28), dtype=np.uint8)), keep=())
    assert curve[0] == pytest.approx(softmax(model.run(FISH, keep=()).classes)[asked.token])
    assert curve[-1] == pytest.approx(softmax(blank.classes)[asked.token], abs=1e-5)
    assert f"attention {percent(erasing.area_under_curve(counts, curve))}" in said(test)


@pytest.mark.slow
def test_a_patched_position_restores_what_the_core_says(model: Model) -> None:
    test = page("importance", importance__by="patch", importance__other=CAT)
    ((head, values),) = pictures(test).values()
    pair = make_pair(model.run(FISH, keep=KEEP), model.run(CAT, keep=KEEP))
    for layer, place in ((0, 0), (2, 0), (1, 24)):
        restored = restored_share(pair, position_patch(pair, "encoder.layer", layer, place))
        assert values[layer, place] == pytest.approx(restored, abs=2e-3)
    assert head["scale"] == "difference" and states(said(test), "“fish”", "“cat”")
    same = page("importance", importance__by="patch", importance__other=FISH)
    assert "both as fish" in said(same)


def test_a_patch_painted_over_is_the_drawing_without_it(model: Model) -> None:
    edit, place = erasing.patch_occlusion(model, 25), 25
    pixels = doodles.example("fish").copy()
    row, column = divmod(place - 1, 7)
    pixels[4 * row : 4 * row + 4, 4 * column : 4 * column + 4] = 0
    drawn = model.run(doodles.as_text(pixels))
    edited = model.run(FISH, edits=[edit])
    np.testing.assert_allclose(edited.classes, drawn.classes, atol=1e-5)
    test = page("what_if", **{"what_if.edits": to_text([edit])})
    shown = pictures(test)
    before, after = (next(v for k, v in shown.items() if k.endswith(end)) for end in (" before", " after"))
    layer, head = (int(part) for part in before[0]["title"].split(" ")[0][1:].split(".H"))
    plain = model.run(FISH).attention("self").weights[layer, head]
    np.testing.assert_allclose(before[1], plain, atol=2e-3)
    np.testing.assert_allclose(after[1], edited.attention("self").weights[layer, head], atol=2e-3)
    np.testing.assert_allclose(shown["after minus before"][1], after[1] - before[1], atol=4e-3)
    assert literal("Row 4, column 4 painted over") in [button.label for button in test.button]
    fish = model.config.classes.index("fish")
    moved = [percent(float(softmax(run.classes)[fish])) for run in (model.run(FISH), edited)]
    assert all(chance in said(test) for chance in moved)


def test_what_is_done_to_a_patch_or_a_cell_is_in_the_link(model: Model) -> None:
    test = page("what_if", **{"what_if.edits": "none", "layer": "2", "head": "1"})
    assert "Nothing is changed" in said(test)
    test.button("what_if.force").click().run()
    seen = model.run(FISH).attention("self").weights[2, 1, 0]
    made = linked(test)["what_if.edits"]
    assert made == f"force:encoder.layer.2.self_attn.allowed:0:{int(seen.argmax())}:1"
    forced = model.run(FISH, edits=from_text(made))
    assert forced.attention("self").weights[2, 1, 0].max() == 1.0
    odd = page("what_if", **{"what_if.edits": "word:embed.token:4:cat"})
    assert "of a patch" in said(odd)


def test_two_heads_lie_beside_each_other_on_the_drawing(model: Model) -> None:
    views = [View(NAME, FISH, "self", 2, 1), View("mae-doodles", FISH, "self", 1, 1)]
    test = page("compare", **pins.panes(tuple(views)))
    shown = pictures(test)
    seen = model.run(FISH).attention("self").weights[2, 1]
    other = core.open_model("mae-doodles").run(with_hidden_mark(FISH, ())).attention("self").weights[1, 1]
    (first, second), difference = (
        (shown[name] for name in shown if name[0] in "AB" and name[1] == ":"),
        shown["A − B"],
    )
    np.testing.assert_allclose(first[1], seen, atol=2e-3)
    np.testing.assert_allclose(second[1], other, atol=2e-3)
    np.testing.assert_allclose(difference[1], seen - other, atol=4e-3)
    assert (
        first[0]["limit"]
        == second[0]["limit"]
        == pytest.approx(max(seen[:, 1:].max(), other[:, 1:].max()), abs=1e-3)
    )
    apart = compare_patterns(seen.astype(float), other.astype(float), np.ones_like(seen, dtype=bool))
    assert states(said(test), f"{apart.bits:.2f} bits")
    assert f"Jensen-Shannon divergence {apart.rows[0]:.2f} bits" in said(test), "the class token's row"


def test_words_and_other_patches_have_nothing_to_stand_opposite() -> None:
    test = page(
        "compare", **pins.panes((View(NAME, FISH, "self", 2, 1), View("gpt-mini", "A cat.", "causal", 1, 1)))
    )
    assert "Words and patches" in said(test)
    offered = next(box.options for box in test.selectbox if box.label == "Model")
    assert set(offered) == {NAME, "mae-doodles"}


def test_heads_that_look_alike_are_found_on_our_drawings(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = tuple(Example(as_text(pixels)) for pixels in example_drawings().pixels[6:9])
    monkeypatch.setattr(pool, "own_items", lambda model: few)
    test = page("find", kind="self", layer="2", head="2")
    read = [with_hidden_mark(row.text, ()) for row in few]
    nearest = []
    for text in read:
        runs = [core.open_model(name).run(text, keep=("*.pattern",)) for name in (NAME, "mae-doodles")]
        maps = [run.attention(kind).weights.reshape(-1, 50, 50) for run in runs for kind in run.kinds]
        every = np.concatenate(maps)
        nearest.append(jensen_shannon(every[10][None], every).mean(-1))
    bits = np.mean(nearest, axis=0)
    bits[10] = np.inf
    assert states(said(test), f"{bits.min():.2f} bits", "maximum 1", "3 drawings")


@pytest.mark.slow
def test_scores_of_heads_are_what_is_counted_on_the_drawings(model: Model) -> None:
    test = page("find", find__by="kinds", kind="self", layer="2", head="2")
    on_lines, far = [], []
    at = np.array([divmod(place, 7) for place in range(49)])
    apart = np.linalg.norm(at[:, None] - at[None], axis=-1)
    for pixels in example_drawings().pixels:
        w = model.run(as_text(pixels), keep=("*.pattern",)).attention("self").weights[2, 2].astype(float)
        lines = pixels.reshape(7, 4, 7, 4).max((1, 3)).ravel() > 12
        on_lines.append(w[:, 1:][:, lines].sum(-1).mean())
        patches = w[1:, 1:] / w[1:, 1:].sum(-1, keepdims=True)
        far.append((patches * apart).sum(-1).mean())
    assert f"median {np.median(on_lines):.2f}" in said(test) and "drawn lines" in said(test)
    table = test.dataframe[0].value
    row = table[table["head"] == "L2.H2"].iloc[0]
    assert row["drawn lines"] == pytest.approx(np.mean(on_lines), abs=1e-3)
    assert row["mean distance (of the diagonal)"] * 6 * 2**0.5 == pytest.approx(np.mean(far), abs=1e-2)


def test_every_page_of_the_bench_is_tried() -> None:
    """A page that is added has to say what it makes of a picture."""
    bench = {entry.slug for entry in pages.workspace() if entry.takes_selection}
    for slug in sorted(bench - {"compare", "find", "what_if", "importance", "look"}):
        assert refused(page(slug)), "it says why not"
