"""The models of toy tasks: they read letters, digits or sounds, not sentences, so that each has texts of its own."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from core.checkpoints import history
from core.data.speech.reader import VOICES
from core.data.texts import Example
from core.jobs import names
from core.models import families
from core.training.recipe import recipes
from core.training.recipes.induction_tiny import RECIPE as REPEATS
from core.training.toy.toy_training import TASKS
from viz.languages import _, mark

COPIERS = tuple(f"copy-{cell}{attends}" for cell in ("lstm", "gru", "rnn") for attends in ("-attention", ""))
SNAILS = ("snail-recall", "snail-recall-convolutions", "snail-recall-attention")
KIND = MappingProxyType(
    dict.fromkeys(COPIERS, "copy")
    | dict.fromkeys(SNAILS, "recall")
    | {"prompt-tiny": "prompt", "induction-tiny": "repeat", "speller": "sound"}
)
"""The kind of texts, in `assets/texts/presets.tsv`, that a model reads."""
SMALL = "small"
"""The kind of what models read that were trained here (`core.training.toy.toy_training`); their texts are not in that file."""
BOX = {
    "copy": mark("Letters to be copied, with spaces between"),
    "prompt": mark("copy: or reverse: or upper: and letters, then ="),
    "repeat": mark("Letters and digits that come twice, with spaces between"),
    "recall": mark("Keys with a capital each, then a key again and ?, with spaces between"),
    "sound": mark(
        "Digits and words that are said; voice=, speed=, noise= and seed= behind them. Voices: {voices}"
    ),
}


def box_of(kind: str) -> str:
    """Return the name of the box for texts of a kind."""
    return _(BOX[kind], voices=", ".join(VOICES))


def kind_of(model: str) -> str | None:
    """Return the kind of texts that a model of a toy task reads, at whatever step of its training; None for other models.

    >>> kind_of("induction-tiny at step 10"), kind_of("recorded: copy"), kind_of("gpt-mini")
    ('repeat', 'small', None)
    """
    return SMALL if names.task_of(model) else KIND.get(history.base_name(model))


def examples_of(model: str) -> tuple[Example, ...]:
    """Return texts of a model's own task on which its heads are measured; () for a model that reads sentences and was not trained by a visitor.

    >>> examples_of("gpt-mini"), examples_of("captioner")[0].target[-1]
    ((), '.')
    """
    recipe = recipes().get(history.base_name(model))
    if recipe and (recipe.name == REPEATS.name or families()[recipe.family].reads):
        return tuple(recipe.examples())
    small = names.task_of(model)
    if small is None:
        return ()
    rng, task = np.random.default_rng(0), TASKS[small]
    lengths = [length for length in task.lengths if length > 3] or list(task.lengths)
    return tuple(Example(task.draw(rng, length, "test").text) for length in lengths for _ in range(4))


def own_texts(model: str) -> tuple[Example, ...]:
    """Return texts of the model's own task, for means over its inputs; () for a model that reads sentences.

    >>> len(own_texts("induction-tiny at step 10")) > 8, own_texts("gpt-mini")
    (True, ())
    """
    base = history.base_name(model)
    return examples_of(model) or (tuple(recipes()[base].examples()) if base in KIND else ())
