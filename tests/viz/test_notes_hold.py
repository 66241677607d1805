"""What Look, Compare and What if say of a run because its numbers call for it is so: recomputed from plain runs, over openings and ready-made examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from deep import deep
from plain_runs import FILLER, GPT, OPENING, plain, softmax, word
from shown_values import states

import core
from core.data.texts import texts
from core.decoding import Greedy, decode
from core.edits import ScaleHead, ZeroHead
from core.edits.serialize import to_text
from core.run import Run
from viz.labels import literal, percent, visible
from viz.widgets.pins import View
from viz.workspace.compare import data, page, presets
from viz.workspace.compare import pair as compare_pair
from viz.workspace.decode import pictures
from viz.workspace.look import full
from viz.workspace.shared import head_ref
from viz.workspace.what_if import data as changes
from viz.workspace.what_if import page as what_if
from viz.workspace.what_if import views, words

# ---- Look


@pytest.mark.quick(1)
@pytest.mark.parametrize("model", OPENING)
def test_care_is_called_for_exactly_where_the_numbers_call_for_it(model: str):
    run, seen = core.open_model(model).run(OPENING[model]), set()
    for kind in run.kinds:
        attention, within = run.attention(kind, by="word"), run.model.spec.kind(kind).one_text
        for layer, head, row in np.ndindex(attention.weights.shape[:3]):
            shown = head_ref.HeadView(attention, layer, head, "")
            marks, name = attention.special_positions[1], literal(visible(attention.queries[row]))
            wanted = dict(called_for(shown.weights, shown.allowed, marks, row, within))
            lines = full.care(shown, row, "one", same_text=within)
            assert lines == [
                full.CARE[reason].format(share=percent(share), query=f"“{name}”")
                for reason, share in wanted.items()
            ]
            seen |= wanted.keys()
    assert {"even", "itself"} <= seen


def called_for(
    weights: np.ndarray, allowed: np.ndarray, added: Sequence[int], row: int, within: bool
) -> Iterator[tuple[str, float]]:
    """The reasons for care by their definitions."""
    free = weights[allowed.sum(1) > 1]
    marks = [place for place in added if place]
    for name, places in (("sink", [0]), ("separator", marks)):
        if len(free) and (share := float(free[:, places].sum(1).mean())) >= 0.5:
            yield name, share
    w, n = weights[row].astype(np.float64), int(allowed[row].sum())
    if n == 1:
        yield "few", float(weights[row].sum())
    elif n > 1:
        even = float(-(w[w > 0] * np.log(w[w > 0])).sum() / np.log(n))
        if even >= 0.95:
            yield "even", even
        if within and w[row] >= 0.5:
            yield "itself", float(w[row])


# ---- Compare


def apart(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Jensen-Shannon divergence of each row, in bits."""

    def entropy(p: np.ndarray) -> np.ndarray:
        return -(p * np.log2(np.where(p > 0, p, 1))).sum(-1)

    one, other = one.astype(np.float64), other.astype(np.float64)
    return entropy((one + other) / 2) - (entropy(one) + entropy(other)) / 2


def differing(found: data.Compared) -> list[int]:
    """Rows whose words are not the same in both panes."""
    return [
        place
        for place, slot in enumerate(found.rows)
        if not all(slot) or found.word("queries", place, 0) != found.word("queries", place, 1)
    ]


def before(found: data.Compared) -> np.ndarray:
    """How far the rows before the first word that differs are apart."""
    a, b = found.weights
    return apart(a, b)[: differing(found)[0]]


def gap(found: data.Compared) -> float:
    """By how much the weights before the first word that differs differ at most."""
    a, b = (weights[: differing(found)[0]] for weights in found.weights)
    return float(np.abs(a - b).max())


def _recurrent(pane: data.Pane) -> bool:
    return not any(kind.layered for kind in pane.run.model.spec.kinds)


def _between(found: data.Compared) -> np.ndarray:
    """How far the rows of every head are apart in the two runs, their mean (layer, head)."""
    a, b = (pane.run.attention(pane.view.kind).weights for pane in found.panes)
    return np.array(
        [[apart(*pair).mean() for pair in zip(*layers, strict=True)] for layers in zip(a, b, strict=True)]
    )


PROMISES: dict[str, Callable[[data.Compared, np.ndarray], bool]] = {
    "Tired or wide?": lambda found, rows: before(found).max() > 0.01 and (before(found) > 0).all(),
    "One word changed": lambda found, rows: gap(found) == 0 and rows.max() > 0.01,
    "One word changed, both ways": lambda found, rows: (
        before(found).max() > 0.01 and (before(found) > 0).all()
    ),
    "With and without recurrence": lambda found, rows: (
        [_recurrent(pane) for pane in found.panes] == [False, True]
    ),
    "Encoder and decoder": lambda found, rows: (
        bool(found.panes[0].allowed.all())
        and bool((found.panes[1].allowed == np.tri(len(found.panes[1].allowed), dtype=bool)).all())
    ),
    "A head switched off": lambda found, rows: (
        0 < (rows > 0.01).sum() < len(rows) and found.panes[1].view.layer > 2
    ),
    "Late and early in training": lambda found, rows: (
        rows.mean() > 0.01 and found.panes[1].view.model.endswith(" at step 437")
    ),
    "Two drawings": lambda found, rows: np.isclose(rows.mean(), _between(found).max()) and rows.mean() > 0.01,
    "With classes and without": lambda found, rows: (
        [pane.run.model.is_classifier for pane in found.panes] == [True, False] and rows.mean() > 0.01
    ),
    "Two strategies": lambda found, rows: found.panes[0].run.side.text != found.panes[1].run.side.text,
}
"""What the line beside each ready-made pair says, as a condition on its rows."""


@pytest.mark.quick(4)
@pytest.mark.parametrize("pair", presets.TELLING, ids=lambda pair: pair.name)
def test_what_is_said_of_a_ready_made_pair_is_so(pair: presets.Telling):
    found = page.compute(page.Params(views=pair.views))
    measured, (a, b) = found.pair(0, 1), found.weights
    both = [place for place, slot in enumerate(found.rows) if all(slot)]
    rows = apart(a, b)[both]
    assert PROMISES[pair.name](found, rows), pair.note
    most = both[int(rows.argmax())]
    called = str if found.panes[0].run.side.values is not None else visible  # patches have names, not words
    said = compare_pair.sentence(found, measured, measured.order[0])
    looks = ", ".join(
        f"{'AB'[pane]} gives {percent(w[most].max())} to “{called(found.word('keys', int(w[most].argmax()), pane))}”"
        for pane, w in enumerate((a, b))
    )
    assert states(
        said.split("\n")[0],
        f"“{called(found.word('queries', most, 0))}”",
        looks,
        f"{rows.max():.2f} bits (maximum 1)",
    )
    assert f"is {rows.mean():.2f} bits" in said
    for line in compare_pair.notes(found, measured):
        if "the two patterns are the same" in line:
            assert gap(found) < 1e-6
        elif "reads the whole text" in line:
            assert float(line.rpartition("by up to ")[2].split(",")[0]) == round(gap(found), 2) > 0
        else:
            assert line.startswith(("Opposite each other", "Without a counterpart"))


def test_a_changed_head_is_not_said_to_be_the_same_before_another_word():
    """Rows are equal before a difference only where the same model reads them: a head that was switched off is another model."""
    off = "zero:layer.0.self_attn.heads:1"
    home, away = (
        View(GPT, "The dog ran home.", "causal", 3, 2),
        View(GPT, "The dog ran away.", "causal", 3, 2),
    )
    found = page.compute(page.Params(views=(home, replace(away, edits=off))))
    assert before(found).max() > 0.001
    assert not any("are the same" in line for line in compare_pair.notes(found, found.pair(0, 1)))


# ---- What if


def edited(model: str) -> Iterator[tuple[str, str]]:
    """The opening change, and changes of every kind at the first and the last layer of every kind of attention."""
    yield OPENING[model], what_if.OFF
    reader = core.open_model(model)
    for kind in reader.spec.kinds_of(reader.config):
        for layer in (0, kind.n_layers(reader.config) - 1):
            where = kind.path(layer, "heads")
            yield from (
                (OPENING[model], to_text([edit]))
                for edit in (ZeroHead(where, 1), ScaleHead(where, 1, 1.0), ScaleHead(where, 0, 4.0))
            )


@cache
def _unchanged(model: str, text: str) -> Run:
    return plain(model, text)


@pytest.mark.parametrize(
    ("model", "text", "raw"),
    deep(
        [(model, *each) for model in OPENING for each in edited(model)] + [(GPT, what_if.TEXT, what_if.OFF)],
        quick=lambda case: case[2] == what_if.OFF,
    ),
)
def test_what_if_says_what_two_plain_runs_say(model: str, text: str, raw: str):
    change = what_if.compute(what_if.Params(model, text, edits=raw))
    outcome = changes.outcome(change)
    said = words.sentence(change, outcome, views.measure_changes(change))
    one, reader = _unchanged(model, text), core.open_model(model)
    given = {"target": one.target_text} if one.source else {}
    other = reader.run(text, edits=change.edits, **given)
    pairs = {kind: [run.attention(kind).weights for run in (one, other)] for kind in one.kinds}
    looks = {kind: apart(*pair).mean(-1) for kind, pair in pairs.items()}
    if any((a != b).any() for a, b in pairs.values()):
        kind = max(looks, key=lambda name: looks[name].max())
        layer, head = np.unravel_index(int(looks[kind].argmax()), looks[kind].shape)
        assert states(said, f"L{layer}.H{head}", f"{looks[kind].max():.3f} bits, maximum 1")
    else:
        assert "No head" in said
        top = change.kind.path(change.kind.n_layers(reader.config) - 1, "heads")
        last = change.kind.name == one.kinds[-1] and change.edits[0].where == top
        assert ("no head reads" in said) == last
    if one.source is not None:
        *_, written = decode(reader, text, Greedy(), max_new_tokens=60, edits=change.edits)
        assert ("stays the same" in said) == (written.text == one.target_text)
        ids = [*one.ids[1 : one.side.n_real], reader.tokenizer.end]
        a, b = (softmax(run.logits[: one.side.n_real])[np.arange(len(ids)), ids] for run in (one, other))
        place = int(np.abs(a - b).argmax())
        most = word(model, ids[place]) if place + 1 < len(ids) else "END"
        assert (a == b).all() or (f"“{most}” moves most" in said and percent(b[place]) in said)
        return
    row = one.ids.index(reader.tokenizer.mask) if model == FILLER else one.side.n_real - 1
    a, b = softmax(one.logits[row]), softmax(other.logits[row])
    was, now = int(a.argmax()), int(b.argmax())
    verb = "stays" if percent(a[was]) == percent(b[was]) else "falls" if b[was] < a[was] else "rises"
    assert f"word “{word(model, was)}” {verb} " in said and percent(b[was]) in said
    assert ("still the first" in said) == (was == now)
    assert was == now or f"“{word(model, now)}” comes first with {percent(b[now])}" in said


def test_what_if_opens_with_a_change_that_is_seen():
    """The head it opens with is an early one: the heads above it move, and the probability of the best token falls."""
    change = what_if.compute(what_if.Params())
    layer = change.place.layer
    moved = views.measure_changes(change).heads[change.place.kind]
    assert layer <= change.before.model.config.n_layers // 3
    assert (moved[layer + 1 :] > 0).all() and moved.max() > 0.01, moved
    row = change.before.side.n_real - 1
    before, after = (softmax(run.logits[row]) for run in (change.before, change.after))
    assert after[before.argmax()] < 0.8 * before.max()


def test_every_ready_made_pair_has_its_condition():
    assert set(PROMISES) == {pair.name for pair in presets.TELLING}


# ---- Decode


@pytest.mark.parametrize("model", ["rnn-en-es", "bahdanau-en-es"])
def test_decode_tells_a_ready_made_sentence_that_came_out_wrong_when_it_has_ended(model: str):
    text = "She has a white car."
    steps = tuple(decode(core.open_model(model), text))
    right = next(row.answers for row in texts("presets") if row.text == text)

    def said(n: int) -> str:
        run = {"model": core.open_model(model), "steps": steps[:n], "last": steps[n - 1]}
        return pictures.sentence(SimpleNamespace(**run, window=SimpleNamespace(text=text)))

    wrong = f"A telling error: {model} writes “{steps[-1].text}”; right is “{right[0]}”."
    assert (wrong in said(len(steps))) == (steps[-1].text not in right) and "A telling error" not in said(3)
