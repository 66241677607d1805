"""Attention Atlas, the core: models that can be watched and changed while they run. Knows no screen.

Its names are imported on first access, so that a caller who needs only a word or a number does not wait for torch.
Its parts from the ground up, each made of itself and of those before it: errors, wording, maths, glossary, trace, masks, text, data, layers, models, abilities, run, model, edits,
checkpoints, decoding, analysis, scoring, training, jobs, serving, reading, tools.

>>> import core
>>> core.masks.causal(2).int().tolist()
[[1, 0], [1, 1]]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core import edits, masks
    from core.checkpoints import open_model
    from core.checkpoints.wrapped import wrap
    from core.decoding import Beam, Greedy, Sample, Step, decode
    from core.errors import InputError
    from core.model import Model
    from core.run import Attention, Run
    from core.scoring.over_texts import over
    from core.trace import OFF, Recorder, Tap, Trace, record

__version__ = "0.2.0"
__all__ = [
    "OFF",
    "Attention",
    "Beam",
    "Greedy",
    "InputError",
    "Model",
    "Recorder",
    "Run",
    "Sample",
    "Step",
    "Tap",
    "Trace",
    "decode",
    "edits",
    "masks",
    "open_model",
    "over",
    "record",
    "wrap",
]
_PLACES = {
    "open_model": "checkpoints",
    "wrap": "checkpoints.wrapped",
    "InputError": "errors",
    "Model": "model",
    "over": "scoring.over_texts",
    **dict.fromkeys(("Beam", "Greedy", "Sample", "Step", "decode"), "decoding"),
    **dict.fromkeys(("Attention", "Run"), "run"),
    **dict.fromkeys(("OFF", "Recorder", "Tap", "Trace", "record"), "trace"),
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        found = getattr(import_module(f"core.{_PLACES[name]}"), name)
    elif name in ("edits", "masks"):
        found = import_module(f"core.{name}")
    else:
        raise AttributeError(f"module 'core' has no attribute '{name}'")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
