"""What What matters, Inside and Find say of a run because its numbers call for it is so: recomputed from plain runs, over openings and ready-made examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from deep import deep
from plain_runs import FILLER, GPT, OPENING, READER, TEXT, plain, softmax
from shown_values import states

import core
from core.analysis.attribution.ablation_sweep import ModelInput, ablation_effects
from core.analysis.attribution.logit_attribution import attribute
from core.analysis.attribution.patching import KEEP, head_patch, make_pair, position_patch, restored_share
from core.analysis.attribution.target_token import OutputTarget, default_row
from core.analysis.heads.evidence import POSITIONAL_SHARE
from core.analysis.residual.logit_lens import logit_lens
from core.analysis.residual.ripple import changed_positions, ripple
from core.run import Run
from viz.labels import percent
from viz.workspace.find import card, kinds, pool
from viz.workspace.find import map as head_map
from viz.workspace.importance import heads as importance_heads
from viz.workspace.importance import page, patch, words
from viz.workspace.inside import contributions as who
from viz.workspace.inside import guesses
from viz.workspace.inside import page as inside
from viz.workspace.inside import ripple as inside_ripple
from viz.workspace.shared import head_survey, target_picker


def beside(one: Run, text: str, keep: Sequence[str]) -> Run:
    """The run of another text with the same translation, where there is one."""
    given = {"target": one.target_text} if one.source else {}
    return one.model.run(text, keep=keep, **given)


EACH = pytest.mark.parametrize("model", OPENING)


# ---- What matters


@pytest.mark.parametrize("model", deep([GPT, READER, FILLER], {GPT}))
def test_what_matters_names_the_head_and_the_word_that_matter(model: str):
    params = page.Params(model, OPENING[model])
    run, swept = page.plain(params), page.compute(params)
    kind = run.kinds[-1]
    effects = ablation_effects(run.model, ModelInput(params.text, run.target_text), swept.question, kind)
    np.testing.assert_allclose(swept.effects, effects, atol=1e-4)
    filled = replace(params, kind=kind, question=swept.question)
    for place in np.ndindex(effects.shape):
        said = importance_heads._sentence(filled, run, swept, place)
        effect = swept.effects[place]
        further = int((swept.effects < effect).sum() if effect < 0 else (swept.effects > effect).sum())
        assert ("no other head" in said) == (further == 0 and effect != 0)
        assert not further or f"{further} of {effects.size} heads" in said
        a, b = (float(np.exp(swept.before + each)) for each in (0, effect))
        assert percent(b) in said and (percent(a) == percent(b) or ("falls" in said) == (b < a))


@pytest.mark.parametrize("drops", [[0.2, 1.5, -0.3], [-0.2, -1.0, -0.1], [0.0, 0.0, 0.0]])
def test_a_word_is_said_to_cost_most_only_where_one_costs(drops: list[float]):
    worth = np.maximum(drops, 0)
    found = {"attention": np.array([0.5, 0.3, 0.2]), words.TAKEN: worth / (worth.sum() or 1)}
    said = words._sentence(found, ["a", "b", "c"], np.array(drops), "words", " nats")
    assert states(said, "“b”", "1.50 nats") == (max(drops) > 0) and ("none of" in said) == (max(drops) <= 0)


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("model", "clean", "other"),
    [
        (model, *each)
        for model, kind in ((GPT, "causal"), (READER, "cross"), (FILLER, "self"))
        for each in patch.PAIRS[kind]
    ],
)
def test_what_is_patched_is_what_two_plain_runs_want(model: str, clean: str, other: str):
    reader, one = core.open_model(model), plain(model, clean, keep=KEEP)
    two = beside(one, other, KEEP)
    pair = make_pair(one, two)
    row, told = pair.output.row, patch._difference(pair)
    names = [target_picker.choice_name(one, int(run.logits[row].argmax())) for run in (one, two)]
    assert names[0] != names[1] and told.find(f"“{names[0]}”") < told.find(f"“{names[1]}”")
    assert target_picker.word(one.tokens[row]) in told
    stack, texts = (
        next(iter(reader.spec.stacks.values())),
        [(run.source or run.side).ids for run in (one, two)],
    )
    differ = [place for place, (a, b) in enumerate(zip(*texts, strict=True)) if a != b]
    patches = [
        [position_patch(pair, stack, layer, place) for place in range(len(texts[0]))] for layer in (0, 1)
    ]
    shares = np.array([[restored_share(pair, patched) for patched in row] for row in patches])
    said, (first, second) = (
        patch._places_said(pair, shares, [*map(str, range(len(texts[0])))]),
        shares.argmax(1),
    )
    assert states(said, "layer 0", f"“{first}” ({percent(shares[0].max())} restored)") and first in differ
    assert states(said, "layer 1", f"“{second}”") == (first != second)
    assert len(differ) > 1 or (
        shares[0, differ[0]] == pytest.approx(1, abs=1e-3)
        and np.abs(np.delete(shares[0], differ)).max() < 1e-3
    ), "as the page says of entering layer 0"
    patches = (head_patch(pair, one.kinds[-1], 0, head) for head in range(reader.config.n_heads))
    heads = np.array([[restored_share(pair, patched) for patched in patches]])
    assert states(patch._heads_said(pair, heads, []), f"L0.H{int(heads.argmax())}: {percent(heads.max())}")


def test_the_view_opens_with_two_texts_that_fit_the_model():
    """The model ranks the answer first in the text that it opens with and the foil in the other, as measured."""
    for name, text in (("bert-mini", "The cat sat on the [MASK]."), ("gpt-mini", "Nothing at all")):
        model = core.open_model(name)
        clean = model.run(patch.opening(model, text))
        ours = dict(patch.PAIRS[clean.kinds[-1]])
        pair = make_pair(clean, model.run(patch._partner(clean, clean.side.text, ours)))
        assert clean.side.text in ours and pair.values[0] > 0 > pair.values[1]
        tops = [run.scores[pair.target.row].argmax() for run in (pair.clean, pair.corrupted)]
        assert tops == [pair.target.token, pair.target.against]


# ---- Inside


@EACH
def test_the_lens_says_where_its_first_guess_settles(model: str):
    run = inside.compute(inside.Params(model, OPENING[model]))
    lens, layers = logit_lens(run, 5), run.model.config.n_layers
    for place in range(run.side.n_real):
        said, best = guesses._sentence(run, lens, place), lens.ids[:, place, 0]
        assert best[-1] == run.logits[place].argmax()
        assert f"“{target_picker.choice_name(run, int(best[-1]))}”" in said
        settled = next(layer for layer in range(layers + 1) if (best[layer:] == best[-1]).all())
        assert ("from the start" in said) == (settled == 0)
        assert not settled or (
            states(said, f"layer {settled - 1} of 0 to {layers - 1}")
            and f"it was “{target_picker.choice_name(run, int(best[settled - 1]))}”" in said
            and best[settled - 1] != best[-1]
        )
        assert percent(softmax(run.logits[place]).max()) in said


@EACH
def test_the_parts_that_are_said_to_add_up_do(model: str):
    run = inside.compute(inside.Params(model, OPENING[model]))
    row = default_row(run)
    for asked in (
        OutputTarget(row, int(run.logits[row].argmax())),
        OutputTarget(row, *(int(i) for i in np.argsort(-run.logits[row])[:2])),
    ):
        said = who._sentence(run, asked, attribute(run, asked)).replace("−", "-")
        parts = said.partition(": ")[2].partition(". Added up")[0].split(", ")
        listed = [float(part.rpartition(" ")[2]) for part in parts]
        against = 0 if asked.against is None else run.logits[row, asked.against]
        wanted = float(run.logits[row, asked.token] - against)
        assert f" is {wanted:.2f}: " in said
        assert sum(listed) == pytest.approx(wanted, abs=0.005 * len(listed) + 0.01)


RIPPLES = [
    (GPT, TEXT, TEXT.replace("tired", "wide")),
    (GPT, "The old man sat down.", "She old man sat down."),
    (GPT, TEXT, TEXT),
    (READER, "She has a white car.", "She has a red car."),
    (READER, "She has a white car.", "He has a white car."),
    (FILLER, "The girl lost [MASK] hat.", "The boy lost [MASK] hat."),
    (FILLER, TEXT, TEXT.replace("tired", "wide")),
]


@pytest.mark.quick(2)
@pytest.mark.parametrize(("model", "text", "other"), RIPPLES)
def test_a_ripple_is_told_as_far_as_it_goes(model: str, text: str, other: str):
    keep = ("*resid_in", "*resid_out")
    one = plain(model, text, keep=keep)
    two = beside(one, other, keep)
    for side in ("encoder", "decoder") if one.source else (None,):
        moved, places = ripple(one, two, side), changed_positions(one, two, side)
        said, same = inside_ripple.sentence(one, moved, places, side), one.hidden(side) == two.hidden(side)
        still = same.all(-1)  # (layer + 1, position): the vector has the same numbers
        if still.all():
            assert "nothing changed" in said
            continue
        first, n = int((~still).any(0).argmax()), still.shape[1]
        tokens = (one.source if side == "encoder" and one.source else one.side).tokens
        if model == GPT and first:
            assert states(said, f"“{target_picker.word(tokens[first])}”", f"{first} of {n}")
            assert still[:, :first].all() and places[0] == first
        elif model == GPT:
            assert said.startswith("The first word") and places[0] == 0
            assert f"{int((~still[-1]).sum())} of {n}" in said
        elif side == "decoder":
            assert not places and states(said, f"{int((~still[-1]).sum())} of its {n} positions")
        else:
            layers = next(layer for layer in range(len(still)) if not still[layer].any())
            assert f"After {layers} layer" in said and ("also those before" in said) == (places[0] > 0)
        assert f"most at “{target_picker.word(tokens[int(moved[-1].argmax())])}”" in said


# ---- Find


@pytest.mark.parametrize(
    ("model", "kind"),
    [(GPT, "causal"), (READER, "self"), (READER, "cross"), (FILLER, "self"), ("induction-tiny", "causal")],
)
def test_a_card_says_what_the_scores_of_its_head_say(model: str, kind: str):
    measured, bare = head_survey.survey(model)[kind], pool.untrained(model).get(kind)
    labels = [measured.label(*place) for place in np.ndindex(measured.shape)]
    clear = [label for label in labels if label not in ("near-uniform", "no clear pattern")]
    told = kinds._sentence(measured, bare, model)
    assert states(told, f"{len(clear)} of the {len(labels)} heads", model)
    for place in np.ndindex(measured.shape):
        name = card.telling(measured, *place)
        said, score = card._control(measured, name, *place), float(measured.scores[name][place])
        assert (name in measured.controls) == bool(said)
        if not said:
            continue
        other = float(measured.controls[name][place])
        assert f"{other:.2f}" in said
        assert "habit of place" not in said or other >= POSITIONAL_SHARE * score > 0
        assert "on the words" not in said or other < score


def test_the_map_names_the_nearest_and_the_farthest_heads():
    found = pool.pool("induction-tiny", "causal")
    some = found.rows_of("induction-tiny", "causal")
    bits, names = pool.between(found, tuple(some)), [str(found.heads[number].place) for number in some]
    pairs = {(i, j): float(bits[i, j]) for i in range(len(some)) for j in range(i + 1, len(some))}
    (a, b), (c, d) = (pick(pairs, key=pairs.__getitem__) for pick in (min, max))
    said = head_map._sentence(found, names, bits, 0.5)
    assert states(
        said,
        f"{names[a]} and {names[b]} ({pairs[a, b]:.3f} bits)",
        f"{names[c]} and {names[d]} ({pairs[c, d]:.3f})",
    )
