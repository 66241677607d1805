"""The measured habits of all heads of a model, and the sentences on which they are measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from core.analysis.heads import patch_habits
from core.analysis.heads.habits import HABIT_NAMES, RARE, HeadHabits
from core.analysis.heads.head_file import FILE, read_heads
from core.analysis.heads.head_survey import survey_heads, with_readability
from core.checkpoints.manifest import shipped_folder
from core.data import doodles
from core.data.texts import Example, texts
from core.errors import InputError
from core.model import Model
from core.reading import surveys
from core.run import Run
from viz.instruments.picture import patches
from viz.widgets import engine_client, input_hints
from viz.workspace.shared import model_run
from viz.workspace.shared.attention_kinds import RANK
from viz.workspace.shared.head_ref import HeadRef
from viz.workspace.shared.toy_models import examples_of

VAGUE = "mixed"


def survey_sentences(paired: bool) -> tuple[Example, ...]:
    """Return our sentences on which heads are measured."""
    return texts("heads_en-es" if paired else "heads_en")


def _source_sentences(model: Model) -> tuple[Example, ...]:
    """Return the sentences for a model that reads a source; only shipped ones are given our translations."""
    rows = survey_sentences(paired=True)
    return rows if input_hints.is_shipped(model.name) else tuple(Example(row.text) for row in rows)


def sentences_for(model: Model) -> tuple[Example, ...]:
    """Return our sentences for a model, or our doodles where it reads pictures."""
    if patches.reads_patches(model):
        return tuple(Example(doodles.as_text(doodles.example(name))) for name in doodles.NAMES)
    return _source_sentences(model) if model.spec.has_source else survey_sentences(paired=False)


def survey(model: str) -> Mapping[str, HeadHabits]:
    """Return the habits of all heads by kind of attention, cached by the engine: as shipped with the model, as surveyed here (`core.reading.surveys`), else measured now, on fewer sentences."""
    reader = model_run.open_model(model)
    if known := surveys.default().heads(reader, engine_client.session()):
        return known
    shelf = shipped_folder()
    if (shelf / model / FILE).is_file():
        return engine_client.submit(("heads", model, FILE), lambda: _shipped(shelf / model), cost=1.0)
    examples = (examples_of(model) or sentences_for(reader)) if reader.spec.kinds_of(reader.config) else ()
    return engine_client.submit(
        ("heads", model),
        lambda: with_readability(survey_heads(reader, examples), reader, [row.text for row in examples])[0],
        cost=60.0 * len(examples) * reader.config.n_layers,
    )


def _shipped(folder: Path) -> Mapping[str, HeadHabits]:
    found = read_heads(folder)
    assert found is not None
    return found.trained


def key_text(run: Run, kind: str) -> str:
    """Return the text of the keys of this attention, a second text included."""
    side = run.source if run.source is not None and run.model.spec.kind(kind).keys == "source" else run.side
    return " ".join(filter(None, (side.text, side.pair)))


def clearest_heads(measured: Mapping[str, HeadHabits], run: Run | None = None) -> dict[HeadRef, str]:
    """Return the clearest head of each habit, the most telling first: across the two languages before inside one.

    With a run, only habits that its text gives an occasion to show.
    """
    found: dict[str, HeadRef] = {}
    for kind in sorted(measured, key=RANK.index):
        for habit, place in measured[kind].best_head_by_habit(key_text(run, kind) if run else "").items():
            if habit != VAGUE:
                found.setdefault(habit, HeadRef(kind, *place))
    order = [
        *("aligner", "previous", "first", "induction", "duplicate"),
        *RARE,
        *patch_habits.CELL_MEASURES,
        "spread",
        "itself",
        "next",
        *("separator", "punctuation"),
    ]
    return {found[habit]: HABIT_NAMES[habit] for habit in sorted(found, key=order.index)}


def habits_for_opening(model: str, text: str) -> Mapping[str, HeadHabits]:
    """Return the habits from which Compare chooses its first two heads: those of the survey for a shipped model, else those on this text.

    So the same heads open before and after a survey. Falls back on the survey where the text cannot be read, or does not
    show every kind of attention.
    """
    measured = survey(model)
    if input_hints.is_shipped(model):
        return measured
    try:
        found = survey_of_run(engine_client.run(model, text, keep=()))
    except InputError:  # where the text is drawn the page says why it cannot be read
        return measured
    return found if found.keys() == measured.keys() else measured


def survey_of_run(run: Run) -> Mapping[str, HeadHabits]:
    """Return the habits of all heads on the text of one run; none for a text that shows nothing of any head."""
    model, text, target = run.model, (run.source or run.side).text, run.target_text

    def measure() -> Mapping[str, HeadHabits]:
        try:
            return with_readability(survey_heads(model, [Example(text, target)]), model, [text])[0]
        except InputError:  # a text that shows nothing of any head
            return {}

    return engine_client.submit(
        ("heads.of_run", model.name, text, target), measure, cost=4.0 * len(text) * model.config.n_layers
    )
