"""Patching: a run into itself changes nothing, the whole input changes everything, one place what plain torch says."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from small_models import build
from torch import Tensor

import core
from core.analysis.attribution import one_layer
from core.analysis.attribution.patching import (
    BY_POSITION,
    QUANTITIES,
    Pair,
    PatchAt,
    PatchGrid,
    corrupted_text,
    head_patch,
    input_of,
    kept_values,
    make_pair,
    patch_grid,
    position_patch,
    restored_share,
)
from core.analysis.attribution.path_patching import LEAVES, path_patching
from core.analysis.attribution.target_token import OutputTarget
from core.analysis.residual.ripple import changed_positions, changed_text
from core.edits import Function, Patch

TEXTS = {
    "gpt": ("She has a white car", "She was a white car"),
    "transformer": ("She has a white car.", "She was a white car."),
    "bert": ("She has [MASK] white car.", "She was [MASK] white car."),
    "albert": ("She has [MASK] white car.", "She was [MASK] white car."),
}
STACK = {"gpt": "layer", "transformer": "encoder.layer", "bert": "layer", "albert": "layer"}


@pytest.fixture(scope="module", params=TEXTS)
def pair(request) -> Pair:
    model = build(request.param)
    options = {"target": "Ella tiene un auto."} if request.param == "transformer" else {}
    clean, corrupted = (model.run(text, **options) for text in TEXTS[request.param])
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


@pytest.mark.parametrize("over", QUANTITIES)
def test_a_grid_in_batches_is_what_the_edits_give_one_by_one(pair, over, monkeypatch):
    monkeypatch.setattr(one_layer, "ROOM", 3 * 4 * 20 * 9000)  # a few rows fit at a time
    grid, asked = PatchGrid(pair, over), []
    found = patch_grid(pair, over, progress=lambda done, n: asked.append((done, n)))
    assert found.shape == (2, len(grid.columns)) and asked[-1] == (found.size, found.size)
    assert len(grid.columns) == (pair.clean.trace[grid._path(0)].shape[0])

    clean, corrupted = pair.values
    side, target = pair.corrupted.source or pair.corrupted.side, pair.corrupted.target_text
    for column in grid.columns:
        path, own = grid._path(1), torch.tensor(pair.clean.trace[grid._path(1)][column])

        def with_clean_column(value, column=column, own=own):
            return torch.cat((value[:, :column], own[None, None], value[:, column + 1 :]), 1)

        run = pair.clean.model.run(side.text, target=target, edits=Function(path, with_clean_column))
        again = corrupted + found[1, column] * (clean - corrupted)
        assert again == pytest.approx(pair.output.value(run.logits), rel=1e-5, abs=1e-5)
    assert np.abs(found).max() > 1e-3
    of = (pair.clean.source or pair.clean.side) if over in ("resid", "ffn") else pair.clean.side
    some = (1, of.n_real - 1)
    part = patch_grid(pair, over, positions=(1, -1))
    if over in BY_POSITION:
        np.testing.assert_allclose(part, found[:, some], atol=1e-4)
    else:
        two = PatchAt(grid._path(1), 2, torch.tensor(pair.clean.trace[grid._path(1)]), (), some)
        assert part[1, 2] == pytest.approx(restored_share(pair, two), abs=1e-4)


def test_answer_foil_and_an_own_metric_are_what_is_measured():
    """The recipe of a pair: two tokens at a position, or any function of a run; the shares of both are one where they measure the same."""
    model = core.open_model("gpt-mini")
    texts = "When Mary came home,", "When John came home,"
    clean, corrupted = (model.run(text, keep=kept_values("resid")) for text in texts)
    she, he = map(model.token_id, (" she", " he"))
    pair = make_pair(clean, corrupted, answer=" she", foil=he)
    assert pair.output == OutputTarget(4, she, he) and pair.values[0] > 0 > pair.values[1]
    own = make_pair(clean, corrupted, metric=lambda run: run.logits[-1, she] - run.logits[-1, he])
    np.testing.assert_allclose(patch_grid(own), shares := patch_grid(pair), atol=1e-5)
    assert shares[0, 1] == pytest.approx(1, abs=1e-5) and abs(np.delete(shares[0], 1)).max() < 1e-5
    assert make_pair(clean, corrupted, row=2, answer=she).output.row == 2
    for options, wrong in (
        ({"answer": "she he"}, "not one token"),
        ({"answer": she, "foil": she}, "are both"),
        ({"metric": lambda run: 1.0}, "same value of the metric"),
    ):
        with pytest.raises(core.InputError, match=wrong):
            make_pair(clean, corrupted, **options)
    for over, options, wrong in (
        ("mlp", {}, "Patched are resid, attn, ffn, heads, pattern"),
        ("pattern", {}, "did not keep 'layer.0.self_attn.pattern'"),
        ("resid", {"positions": [5]}, "no position 5"),
    ):
        with pytest.raises(core.InputError, match=wrong):
            patch_grid(pair, over, **options)
    tiny = core.open_model("induction-tiny")
    other = make_pair(tiny.run("a b c a"), tiny.run("a c b a"))
    with pytest.raises(core.InputError, match="no feed-forward output"):
        patch_grid(other, "ffn")


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
    model = build("gpt")
    one = model.run("She has a white car")
    with pytest.raises(core.InputError, match="same words"):
        make_pair(one, one)
    with pytest.raises(core.InputError, match="equal number"):
        make_pair(one, model.run("She has a white car. It was"))
    with pytest.raises(core.InputError, match="equal length"):
        model.run("She", edits=(PatchAt("layer.0.resid_in", 0, torch.zeros(9, 33), ("x",)),))


# ---------------- Path patching: equal to the residual stream written out, and the path by which an induction head finds its key.


def gpt() -> tuple[Pair, str, str, list]:
    model = core.open_model("gpt-mini")
    runs = [model.run(text) for text in ("When Mary came home,", "When John came home,")]
    return make_pair(*runs, answer=" she", foil=" he"), "causal", "layer", [*model.network.layers]


def bert() -> tuple[Pair, str, str, list]:
    model = build("bert", n_layers=3)
    runs = [model.run(text) for text in ("She has [MASK] white car.", "She was [MASK] white car.")]
    return Pair(*runs, OutputTarget(3, 7, against=12)), "self", "layer", [*model.network.layers]


def translator() -> tuple[Pair, str, str, list]:
    model = build("transformer")
    texts = "She has a white car.", "She was a white car."
    runs = [model.run(text, target="Ella tiene un auto.") for text in texts]
    return Pair(*runs, OutputTarget(3, 7, against=12)), "self", "encoder.layer", [*model.network.encoder]


@pytest.mark.parametrize("build", [gpt, bert, translator])
def test_it_is_the_stream_of_the_corrupted_run_with_one_head_s_change_added(build):
    """Written out: the sender's change goes through W_O into the stream, every other part adds what it added, norms are computed."""
    pair, kind, stack, blocks = build()
    layer, head = len(blocks) - 1, 1
    width = pair.clean.model.config.d_head

    def value(path: str, run=pair.corrupted) -> Tensor:
        return torch.tensor(run.trace[path])

    @torch.no_grad()
    def stream(sender: tuple[int, int]) -> Tensor:
        """Return what the receiver's projections read."""
        first, number = sender
        path, part = f"{stack}.{first}.self_attn.heads", slice(number * width, (number + 1) * width)
        change = (value(path, pair.clean) - value(path))[number]
        x = value(f"{stack}.{first}.resid_in")
        for at in range(first, layer):
            here = f"{stack}.{at}"
            attended = value(f"{here}.self_attn.out")
            if at == first:
                attended = attended + change @ blocks[at].self_attn.to_out.weight[:, part].T
            x = x + attended
            if build is gpt:
                x = x + value(f"{here}.ffn.out")
            else:
                x = blocks[at].norm2(blocks[at].norm1(x) + value(f"{here}.ffn.out"))
        return blocks[layer].norm1(x) if build is gpt else x

    for by, leaf in LEAVES.items():
        found = path_patching(pair, kind, (layer, head), by)
        assert found.shape == (layer, pair.clean.model.config.n_heads)
        project = getattr(blocks[layer].self_attn, f"to_{leaf}")
        for sender in ((0, 2), (layer - 1, 0)):
            own = project(stream(sender)).detach()[:, head * width : (head + 1) * width]
            wanted = value(path := f"{stack}.{layer}.self_attn.{leaf}")
            wanted[head] = own
            edit = Function(path, lambda _, new=wanted: new[None])
            run = pair.clean.model.run(**input_of(pair.corrupted), edits=edit)
            clean, corrupted = pair.values
            again = corrupted + found[sender] * (clean - corrupted)
            assert again == pytest.approx(pair.output.value(run.scores), rel=1e-5, abs=1e-5), (by, sender)
        assert np.abs(found).max() > 1e-4


def test_what_has_no_such_path_is_refused():
    model = core.open_model("induction-tiny")
    pair = make_pair(model.run("abcdefa"), model.run("gbcdefa"), answer="b", foil="d")
    for receiver, by, wrong in (
        ((0, 1), "key", "L0.H1 receives nothing"),
        ((1, 1), "keys", "query, key, value"),
    ):
        with pytest.raises(core.InputError, match=wrong):
            path_patching(pair, "causal", receiver, by)
    seq, text = core.open_model("translator-en-es"), "She has a car."
    runs = [seq.run(each, target="Ella tiene") for each in (text, "He has a car.")]
    with pytest.raises(core.InputError, match="of another text"):
        path_patching(Pair(*runs, OutputTarget(1, 7, 9)), "cross", (1, 0))
