"""Activation patching: which part of a run carries the difference between two sentences.

Two sentences of equal length, clean and corrupted, differ in a word, and with it in the word that the model expects. One
value of the clean run is put into the corrupted one, and the question is how much of the clean answer comes back (Vig et
al. 2020; Meng et al. 2022, "Locating and editing factual associations in GPT").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from core.abilities import ASKABLE
from core.analysis.attribution.one_layer import LayerEdits
from core.analysis.attribution.target_token import (
    OutputTarget,
    blank_rows,
    column_of,
    output_target,
    target_rows,
)
from core.analysis.residual.ripple import changeable_spans, changed_texts, replacements, same_token_count
from core.errors import InputError, Marked
from core.model import Model
from core.models import ENTERS, Family, Kind
from core.run import Run
from core.trace import Edit
from core.wording import mark

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray
Metric = Callable[[Run], float]
"""A function of a run, such as of `run.logits`, to the number that is measured."""

BY_POSITION = {"resid": "residual stream", "attn": "attention output", "ffn": "feed-forward output"}
BY_HEAD = {"heads": "head output", "pattern": "attention pattern"}
QUANTITIES = {**BY_POSITION, **BY_HEAD}
"""The values that can be patched, by the last part of their paths: at one position, or of one head."""
_PATHS = {
    "resid": ENTERS,
    "attn": "*_attn.out",
    "ffn": "*.ffn.out",
    "heads": "*.heads",
    "pattern": "*.pattern",
}
KEEP = (ENTERS, "*.heads", "|".join(ASKABLE))
"""The values that the clean run must keep for patches of the residual stream and of heads."""


def kept_values(over: str) -> tuple[str, ...]:
    """Return the patterns of the values that the clean run must keep for patches of one quantity (`QUANTITIES`)."""
    return ("|".join((_PATHS[over], *ASKABLE)),)


@dataclass(frozen=True)
class PatchAt:
    """Replace one index of axis 1 of a value by the same of another run; equal by all but the value itself.

    Axis 1 is the position of a residual stream, or the head of `*_attn.heads` and patterns; of a head, `positions` are
    the queries whose rows are replaced, None for all.

    >>> PatchAt("layer.0.resid_in", 1, torch.full((2, 3), 7.0), ("clean",))(torch.zeros(1, 2, 3)).tolist()
    [[[0.0, 0.0, 0.0], [7.0, 7.0, 7.0]]]
    """

    where: str
    index: int
    value: Tensor = field(compare=False, repr=False)
    recipe: tuple[object, ...] = ()
    positions: tuple[int, ...] | None = None

    def __call__(self, value: Tensor) -> Tensor:
        if value.shape[1:] != self.value.shape:
            raise InputError(
                "'{where}' is {here} here and {there} in the run it comes from.",
                "A patch goes between texts of equal length.",
                "Use two texts with as many tokens.",
                where=self.where,
                here=tuple(value.shape[1:]),
                there=tuple(self.value.shape),
            )
        new = value.clone()
        rows = slice(None) if self.positions is None else list(self.positions)
        new[:, self.index, rows] = self.value[self.index, rows].to(value.dtype)
        return new


@dataclass(frozen=True)
class Pair:
    """A clean and a corrupted run of one model, and the output measured in both: the clean answer against the corrupted one, or an own metric."""

    clean: Run
    corrupted: Run
    output: OutputTarget | Metric

    @property
    def recipe(self) -> tuple[object, ...]:
        """Return the identity of the run that the patches come from: model, source, text and second text."""
        source = self.clean.source.text if self.clean.source else ""
        return (self.clean.model.name, source, self.clean.side.text, self.clean.side.pair)

    @property
    def target(self) -> OutputTarget:
        """Return the row and the two outputs that are compared. Raises TypeError for a pair with an own metric."""
        if not isinstance(self.output, OutputTarget):
            raise TypeError("This pair has a metric, and no two outputs that are compared.")
        return self.output

    def measure(self, run: Run) -> float:
        """Return the measured number of a run: the logit difference, or that of an own metric."""
        return (
            self.output.value(run.scores)
            if isinstance(self.output, OutputTarget)
            else float(self.output(run))
        )

    @cached_property
    def values(self) -> tuple[float, float]:
        """Return the measured number of the clean and of the corrupted run."""
        return self.measure(self.clean), self.measure(self.corrupted)

    def restoration(self, patched: Float[Array, "*shape"] | float) -> Any:
        """Return the share of the difference that is restored: 0 as in the corrupted run, 1 as in the clean one."""
        clean, corrupted = self.values
        return (patched - corrupted) / (clean - corrupted)


def make_pair(
    clean: Run,
    corrupted: Run,
    row: int | None = None,
    answer: int | str | None = None,
    foil: int | str | None = None,
    *,
    metric: Metric | None = None,
) -> Pair:
    """Pair two runs, with what is measured in both: the logit of `answer` minus that of `foil`, tokens or names of classes, at `row`.

    Without `answer` and `foil` they are what each of the two runs ranks first, at the row where the two differ most; without
    `row` a given answer is measured where they differ most, too, of a decoder at its last position. Of a masked language model the row is a blank
    where there is one. With a `metric`, a function of a run to a number, that is measured instead.
    Raises InputError for texts of different length, and where nothing is to be restored, as if both make the model expect the same word.
    """
    ids = [(run.source or run.side).ids for run in (clean, corrupted)]
    if len(ids[0]) != len(ids[1]) or clean.side.n_real != corrupted.side.n_real:
        raise InputError(
            "The first sentence has {first} tokens here, the second {second}.",
            "A patch goes between equal numbers of positions.",
            "Change a word into one with as many tokens.",
            first=len(ids[0]),
            second=len(ids[1]),
        )
    if metric is not None:
        return _differing(Pair(clean, corrupted, metric), mark("value of the metric"))
    if clean.model.main_output == "score":
        return _differing(Pair(clean, corrupted, output_target(clean, 0, 0)), mark("score"))
    token, against = (None if each is None else column_of(clean, each) for each in (answer, foil))
    model, rows = clean.model, measured_rows(clean, corrupted) if row is None else [row]
    if row is None and answer is not None and model.spec.writes and not model.spec.has_source:
        rows = [place for place in rows if place == clean.side.n_real - 1] or rows
    clean_top, top = (run.scores.argmax(-1) for run in (clean, corrupted))
    targets = [
        OutputTarget(
            place,
            int(clean_top[place]) if token is None else token,
            int(top[place]) if against is None else against,
        )
        for place in rows
    ]
    parting = [Pair(clean, corrupted, each) for each in targets if each.token != each.against]
    if not parting:
        given = answer is not None or foil is not None
        raise _same_answer(clean, next((each.token for each in targets), 0), has_answer=given)
    return _differing(
        max(parting, key=lambda pair: pair.values[0] - pair.values[1]), mark("logit difference")
    )


def measured_rows(clean: Run, corrupted: Run) -> list[int]:
    """Return the rows of the scores at which a pair may be measured: blanks where there are any, else those that can be a target and read the same word."""
    model = clean.model
    at_words = model.spec.framed and model.main_output in ("logits", "tags")
    return blank_rows(clean) or [
        place for place in target_rows(clean) if not at_words or clean.ids[place] == corrupted.ids[place]
    ]


def nearest_pair(clean: Run, corrupted: Run) -> Pair | None:
    """Return a pair of two runs that rank the same output first at every row: that one against the one which gains most on it in the corrupted run.

    It is measured at the row where this gain is largest; None where the runs give the same scores.
    """
    best, largest = None, 0.0
    for row in measured_rows(clean, corrupted):
        one, other = (run.scores[row].astype(np.float64) for run in (clean, corrupted))
        token = int(one.argmax())
        among = np.argsort(-other)[:NEAR]
        gains = (other[among] - one[among]) - (other[token] - one[token])
        if gains.max() > largest:
            best, largest = OutputTarget(row, token, int(among[gains.argmax()])), float(gains.max())
    return None if best is None else Pair(clean, corrupted, best)


def _differing(pair: Pair, quantity: str) -> Pair:
    """Return the pair. Raises InputError where both runs give the same number, so that nothing can be restored."""
    if pair.values[0] != pair.values[1]:
        return pair
    raise InputError(
        "Both sentences have the same {quantity}.",
        "A patch restores a part of the difference between the two.",
        "Change another word.",
        quantity=quantity,
    )


def _same_answer(clean: Run, column: int, *, has_answer: bool) -> InputError:
    """Return the error of two runs without two different answers to measure."""
    model = clean.model
    if has_answer:
        return InputError(
            "Answer and foil are both “{choice}”.",
            "The measure is the difference between two outputs that is restored.",
            "Choose another foil.",
            choice=clean.choice(column),
        )
    if model.is_classifier:
        return InputError(
            "The model classifies both as {choice}.",
            "The measure is the difference between two classes that is restored.",
            "Choose one that the model classifies differently.",
            choice=model.choice(column),
        )
    if model.main_output != "logits":
        return InputError(
            "The model gives both sentences the same tags."
            if model.main_output == "tags"
            else "The model gives both sentences its answer at the same position.",
            "The measure is the difference between two outputs that is restored.",
            "Change another word.",
        )
    return InputError(
        "Both sentences make the model expect the same words.",
        "The measure is the difference between two words that is restored.",
        "Change a word on which a later one depends.",
    )


NEAR = 20
"""So many of the outputs that a run ranks first are compared with the first of another run."""
SWAPS = (
    ("Mary", "John"),
    ("he", "she"),
    ("his", "her"),
    ("man", "woman"),
    ("men", "women"),
    ("boy", "girl"),
    ("father", "mother"),
    ("brother", "sister"),
    ("son", "daughter"),
    ("king", "queen"),
    ("old", "young"),
    ("big", "small"),
    ("hot", "cold"),
    ("good", "bad"),
    ("day", "night"),
)
"""Words that a later one often depends on, each with a replacement."""
BATCH_SIZE = 16
"""So many sentences of a group are read at once."""


def corrupted_text(model: Model, text: str, target: str | None = None, first: Sequence[str] = ()) -> str:
    """Find a text with one word changed for which the model expects another word, by measuring; "" where none of those tried does.

    The answer ranks first in the text itself and the foil in the other; of a group the pair in which both are clearest is taken. Groups are tried in turn, each in one batch: those of `first`; a repeated name of the text as another name of it, where the model then answers
    with these names (When Mary and John ..., John gave a drink to); words of `SWAPS`; such a name without regard to
    the answer; any word as another (`ripple.changed_texts`). All have as many tokens as the text.
    """
    spans = changeable_spans(model, text)
    words = [text[slice(*span)] for span in spans]
    names = list(dict.fromkeys(word for word in words if word.istitle()))
    repeated = {word: span for word, span in zip(words, spans, strict=True) if words.count(word) > 1}
    opposites = {a: b for one, two in SWAPS for a, b in ((one, two), (two, one))}
    opposites |= {a.capitalize(): b.capitalize() for a, b in opposites.items()}
    clean = model.run(text, target=target, keep=())

    def renamed(others: Sequence[str]) -> Iterator[str]:
        return (
            new
            for name in names
            if name in repeated
            for new in replacements(model, text, repeated[name], others)
        )

    groups: tuple[tuple[Iterator[str], Sequence[str]], ...] = (
        ((other for other in first if same_token_count(model, text, other)), ()),
        (renamed(names), names),
        (
            (
                new
                for word, span in zip(words, spans, strict=True)
                if opposites.get(word, word) not in words
                for new in replacements(model, text, span, [opposites[word]])
            ),
            (),
        ),
        (renamed([name for name in names if name != words[0]]), ()),
        (changed_texts(model, text), ()),
    )
    for texts, answers in groups:
        pairs = _valid_pairs(clean, list(islice(texts, BATCH_SIZE)))
        if answers:
            pairs = [pair for pair in pairs if _words(pair) <= set(answers)]
        if pairs:
            best = max(pairs, key=lambda pair: min(pair.values[0], -pair.values[1])).corrupted
            return (best.source or best.side).text
    return ""


def _valid_pairs(clean: Run, texts: Sequence[str]) -> list[Pair]:
    """Return the pairs of a run with those of these texts that make the model expect another word."""
    if not texts:
        return []
    target = clean.target_text if clean.source is not None else None
    found = []
    for run in clean.model.run_many(texts, targets=[target] * len(texts), keep=()):
        with suppress(InputError):
            found.append(make_pair(clean, run))
    return found


def _words(pair: Pair) -> set[str]:
    """Return the two words that a pair is about."""
    return {pair.clean.choice(index).strip() for index in (pair.target.token, pair.target.against or 0)}


def position_patch(pair: Pair, stack: str, layer: int, position: int) -> Edit:
    """Return the edit that puts in the clean residual stream at one position, as it enters a layer of a stack ("layer", "encoder.layer", ...)."""
    path = f"{stack}.{layer}.{pair.clean.model.spec.stream[0]}"
    return PatchAt(path, position, _tensor(pair.clean, path), pair.recipe)


def head_patch(pair: Pair, kind: str, layer: int, head: int) -> Edit:
    """Return the edit that puts in one head's output of the clean run, at all positions."""
    path = pair.clean.model.spec.kind(kind).path(layer, "heads")
    return PatchAt(path, head, _tensor(pair.clean, path), pair.recipe)


def restored_share(pair: Pair, edit: Edit) -> float:
    """Return the share of the difference that one patch restores."""
    new = pair.corrupted.model.run(**input_of(pair.corrupted), keep=(), edits=(edit,))
    return pair.restoration(pair.measure(new))


def restored_shares(pair: Pair, runs: LayerEdits, layer: int, edits: Sequence[Edit]) -> Float[Array, " edit"]:
    """Return the share of the difference that each edit of one value of a layer restores; `runs` are those of the corrupted input."""
    if isinstance(pair.output, OutputTarget):
        flat = replace(pair.output, row=0)
        numbers = [flat.value(row[None]) for row in runs.edited_scores(layer, edits, pair.output.row)]
    else:
        numbers = [pair.measure(run) for batch in runs.edited_runs(layer, edits) for run in batch]
    return pair.restoration(np.array(numbers))


def input_of(run: Run) -> dict[str, Any]:
    """Return the text, the target and the second text that a run read, by the names of `Model.run`."""
    text, target = (run.source.text, run.target_text) if run.source else (run.side.text, None)
    return {"text": text, "target": target, "pair": run.side.pair}


class PatchGrid:
    """Patches of one quantity of a pair, layer by layer, each at one position or of one head: the rows of a batch differ in the patch alone.

    `over` is one of `QUANTITIES`: "resid", "attn" and "ffn" (the residual stream as it enters a layer, what attention and
    feed-forward add) are patched at one of `positions`; "heads" and "pattern" of one head, at the queries `positions`. None: all. `stack` is
    where residual stream and feed-forward are, `kind` which attention, of models with several; the first and the last by default.

    Raises InputError for a quantity that the model does not have, and for a position that the text does not have.
    """

    def __init__(
        self,
        pair: Pair,
        over: str = "resid",
        *,
        stack: str | None = None,
        kind: str | None = None,
        positions: Sequence[int] | None = None,
    ) -> None:
        if over not in QUANTITIES:
            raise InputError(
                "There is no quantity '{over}'.",
                "Patched are {names}.",
                "Choose one of them.",
                over=over,
                names=", ".join(QUANTITIES),
            )
        model, spec = pair.clean.model, pair.clean.model.spec
        kinds = [each for each in spec.kinds_of(model.config) if each.layered]
        self.pair, self.over, self._stack = pair, over, stack or next(iter(spec.stacks.values()), "")
        if over not in quantities(pair.clean):
            raise InputError(
                "{name} has no {quantity} in layers.",
                "Patched is a value that each of its layers computes.",
                "Choose another of {names}.",
                name=model.name,
                quantity=Marked(QUANTITIES[over]),
                names=", ".join(QUANTITIES),
            )
        if over in ("resid", "ffn"):
            self._kind = max(kinds, key=lambda each: each.stack == self._stack)
            self.n_layers = spec.depth(model.config, self._stack)
        else:
            self._kind = kinds[-1] if kind is None else spec.kind(kind)
            self.n_layers = self._kind.n_layers(model.config)
        shape = _tensor(pair.clean, self._path(0)).shape
        n = shape[0 if over in BY_POSITION else 1]
        wrong = [place for place in positions or () if not -n <= place < n]
        if wrong:
            raise InputError(
                "There is no position {position}.",
                "There are {n} here.",
                "Choose 0 to {last}.",
                position=wrong[0],
                n=n,
                last=n - 1,
            )
        self.positions = None if positions is None else tuple(place % n for place in positions)
        by_head = over in BY_HEAD or self.positions is None
        self.columns = tuple(range(shape[0])) if by_head else self.positions or ()

    def edits(self, layer: int) -> list[Edit]:
        """Return the patches of one layer, one for each of `columns`: positions, or heads."""
        path = self._path(layer)
        value, queries = _tensor(self.pair.clean, path), self.positions if self.over in BY_HEAD else None
        return [PatchAt(path, column, value, self.pair.recipe, queries) for column in self.columns]

    def restored(self, layer: int) -> Float[Array, " column"]:
        """Return the share of the difference that each patch of one layer restores."""
        return restored_shares(self.pair, self._runs, layer, self.edits(layer))

    @cached_property
    def _runs(self) -> LayerEdits:
        read = input_of(self.pair.corrupted)
        return LayerEdits(
            self.pair.clean.model, read["text"], self._kind.name, target=read["target"], pair=read["pair"]
        )

    def _path(self, layer: int) -> str:
        return _path(self.pair.clean.model.spec, self.over, self._stack, self._kind, layer)


def _path(spec: Family, over: str, stack: str, kind: Kind, layer: int) -> str:
    """Return the path of a quantity in a layer."""
    if over in ("resid", "ffn"):
        return f"{stack}.{layer}.{spec.stream[0] if over == 'resid' else 'ffn.out'}"
    return kind.path(layer, "out" if over == "attn" else over)


def quantities(run: Run) -> tuple[str, ...]:
    """Return those of `QUANTITIES` that the layers of the run's model compute."""
    spec = run.model.spec
    kinds = [each for each in spec.kinds_of(run.model.config) if each.layered]
    stack = next(iter(spec.stacks.values()), "")
    return tuple(
        over for over in QUANTITIES if kinds and run.trace.has_visited(_path(spec, over, stack, kinds[-1], 0))
    )


def patch_grid(
    pair: Pair,
    over: str = "resid",
    *,
    stack: str | None = None,
    kind: str | None = None,
    positions: Sequence[int] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Float[Array, "layer column"]:
    """Patch one quantity in every layer, at each position or of each head alone, and return the share of the difference that each restores.

    `over`, `stack`, `kind` and `positions` are those of `PatchGrid`: by layer and position of "resid", "attn" and "ffn", by
    layer and head of "heads" and "pattern". A share s means that the pair's measure is corrupted + s (clean - corrupted).
    `progress` is called with the number of patches done and of all.

    >>> import core
    >>> model = core.open_model("gpt-mini")
    >>> pair = make_pair(model.run("When Mary came home,"), model.run("When John came home,"), answer=" she", foil=" it")
    >>> patch_grid(pair).shape, patch_grid(pair, "pattern").shape
    ((6, 5), (6, 8))
    """
    grid = PatchGrid(pair, over, stack=stack, kind=kind, positions=positions)
    rows = []
    for layer in range(grid.n_layers):
        rows.append(grid.restored(layer))
        if progress is not None:
            progress(len(rows) * len(grid.columns), grid.n_layers * len(grid.columns))
    return np.stack(rows)


def _tensor(run: Run, path: str) -> Tensor:
    """Return a recorded value of a run. Raises InputError for a run that did not keep it."""
    if path not in run.trace:
        raise InputError(
            "The clean run did not keep '{path}'.",
            "A patch is a value of the clean run.",
            "Run the clean text without keep=, or with the path of this value.",
            path=path,
        )
    return torch.tensor(np.asarray(run.trace[path]))
