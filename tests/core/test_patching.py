"""Patching: a run into itself changes nothing, the whole input changes everything, one place what plain torch says."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import core
from core.analysis.attribution.patching import (
    KEEP,
    Pair,
    PatchAt,
    corrupted_text,
    head_patch,
    make_pair,
    position_patch,
    restored_share,
)
from core.analysis.attribution.target_token import OutputTarget
from core.analysis.residual.ripple import changed_positions, changed_text
from core.edits import Patch
from tests.bert_helpers import build as build_bert
from tests.core.test_run import build as build_other

TEXTS = {
    "gpt": ("She has a white car", "She was a white car"),
    "transformer": ("She has a white car.", "She was a white car."),
    "bert": ("She has [MASK] white car.", "She was [MASK] white car."),
    "albert": ("She has [MASK] white car.", "She was [MASK] white car."),
}
STACK = {"gpt": "layer", "transformer": "encoder.layer", "bert": "layer", "albert": "layer"}


@pytest.fixture(scope="module", params=TEXTS)
def pair(request) -> Pair:
    model = build_bert(request.param) if request.param in ("albert", "bert") else build_other(request.param)
    options = {"target": "Ella tiene un auto."} if request.param == "transformer" else {}
    clean, corrupted = (model.run(text, keep=KEEP, **options) for text in TEXTS[request.param])
    row = clean.tokens.index("[MASK]") if request.param in ("albert", "bert") else clean.side.n_real - 1
    return Pair(clean, corrupted, OutputTarget(row, 7, against=12))


class _Says:
    """A model that expects after each text what a table says, to be asked by `partner`: its answer is the last token of the last row."""

    def __init__(self, model, answers):
        self.model, self.answers = model, answers

    def __getattr__(self, name):
        return getattr(self.model, name)

    def run_many(self, texts, **options):
        return [self._answering(run) for run in self.model.run_many(texts, **options)]

    def run(self, text, **options):
        return self._answering(self.model.run(text, **options))

    def _answering(self, run):
        logits = np.zeros((len(run.ids), self.config.n_vocab), np.float32)
        logits[-1, self.model.token_id(self.answers(run.side.text))] = 5.0
        return SimpleNamespace(
            model=self,
            side=run.side,
            source=None,
            ids=run.ids,
            spans=run.spans,
            scores=logits,
            choice=self.model.choice,
            target_text=None,
        )


def test_the_other_sentence_of_a_pair_is_chosen_by_measuring():
    """A repeated name becomes the other where the model answers with the names, else a word what it is often compared with, else any."""
    gpt = core.open_model("gpt-mini")
    text = "When Mary and John went to the store, John gave a drink to"
    names = _Says(gpt, lambda text: " John" if "store, Mary" in text else " Mary")
    assert corrupted_text(names, text) == "When Mary and John went to the store, Mary gave a drink to"
    ages = _Says(gpt, lambda text: " her" if "woman" in text else " his")
    assert corrupted_text(ages, "The old woman lost") == "The old man lost"
    assert (
        corrupted_text(ages, "The old woman lost", first=["The old man had lost it", "The old man saw"])
        == "The old man saw"
    )
    assert corrupted_text(_Says(gpt, lambda text: " the"), text) == "", "nothing changes what it expects"
    for text in ("When Mary came home,", "The animal didn't cross the street because it was too tired."):
        other = corrupted_text(gpt, text)
        pair = make_pair(gpt.run(text), gpt.run(other))
        assert pair.values[0] > 0 > pair.values[1] and len(gpt.run(other).ids) == len(gpt.run(text).ids)


def test_a_word_is_changed_into_one_with_as_many_tokens_or_none():
    gpt = core.open_model("gpt-mini")
    text = "She has a white car."
    assert (
        changed_text(gpt, text, ["She has a very white car.", "She has a red car."]) == "She has a red car."
    )
    assert changed_text(gpt, text, ["She has a very white car."]) not in (text, "She has a very white car.")
    assert changed_text(gpt, "...") == "..."


def edits_of(pair: Pair) -> list[PatchAt]:
    stack, kind = STACK[pair.clean.model.family], pair.clean.kinds[-1]
    n = len((pair.clean.source or pair.clean.side).ids)
    return [
        *(position_patch(pair, stack, layer, place) for layer in range(2) for place in range(n)),
        *(head_patch(pair, kind, 1, head) for head in range(3)),
    ]


def test_a_run_patched_with_itself_is_bitwise_the_same(pair):
    model, side = pair.clean.model, pair.clean.source or pair.clean.side
    for edit in edits_of(pair):
        again = model.run(side.text, target=pair.clean.target_text, edits=(edit,))
        np.testing.assert_array_equal(again.logits, pair.clean.logits)


def test_the_changed_word_at_the_bottom_is_the_whole_difference_and_other_words_none_of_it(pair):
    stack = STACK[pair.clean.model.family]
    side = "encoder" if stack.startswith("encoder") else None
    places = changed_positions(pair.clean, pair.corrupted, side)
    for place in range(len((pair.clean.source or pair.clean.side).ids)):
        share = restored_share(pair, position_patch(pair, stack, 0, place))
        assert share == pytest.approx(1.0 if [place] == places else 0.0, abs=1e-3) or (
            place in places and len(places) > 1
        )


def test_one_place_is_what_a_patch_of_the_whole_stream_says(pair):
    """Written separately: the mixed stream put in as a whole."""
    stack = STACK[pair.clean.model.family]
    path, place = (
        f"{stack}.1.resid_in",
        changed_positions(pair.clean, pair.corrupted, "encoder" if stack.startswith("encoder") else None)[0],
    )
    mixed = pair.corrupted.trace[path].copy()
    mixed[place] = pair.clean.trace[path][place]
    side = pair.corrupted.source or pair.corrupted.side
    run = pair.clean.model.run(
        side.text, target=pair.corrupted.target_text, edits=(Patch(path, torch.tensor(mixed)[None]),)
    )
    logits = [r.logits[pair.output.row].astype(np.float64) for r in (run, pair.clean, pair.corrupted)]
    new, clean, corrupted = (row[7] - row[12] for row in logits)
    assert restored_share(pair, position_patch(pair, stack, 1, place)) == pytest.approx(
        (new - corrupted) / (clean - corrupted), abs=1e-6
    )


def test_a_patch_is_known_by_where_it_comes_from(pair):
    one, other, *_ = edits_of(pair)
    assert hash(one) == hash(edits_of(pair)[0]) and one == edits_of(pair)[0] and one != other and one.recipe


def test_the_question_is_the_first_words_that_the_two_sentences_make_the_model_expect(pair):
    runs = pair.clean, pair.corrupted
    rows = [pair.output.row] if "[MASK]" in pair.clean.tokens else range(pair.clean.side.n_real)
    if all(runs[0].logits[row].argmax() == runs[1].logits[row].argmax() for row in rows):
        with pytest.raises(core.InputError, match="same words"):
            make_pair(*runs)
        return
    found = make_pair(*runs)
    assert [found.output.token, found.output.against] == [
        int(run.logits[found.output.row].argmax()) for run in runs
    ]
    clean, corrupted = found.values
    assert clean >= 0 >= corrupted and found.restoration(corrupted) == 0 and found.restoration(clean) == 1


def test_sentences_that_cannot_be_compared_are_refused():
    model = build_other("gpt")
    one = model.run("She has a white car")
    with pytest.raises(core.InputError, match="same words"):
        make_pair(one, one)
    with pytest.raises(core.InputError, match="equal number"):
        make_pair(one, model.run("She has a white car. It was"))
    with pytest.raises(core.InputError, match="equal length"):
        model.run("She", edits=(PatchAt("layer.0.resid_in", 0, torch.zeros(9, 33), ("x",)),))
