"""Attention Atlas, the core: models that can be watched and changed while they run. Knows no screen.

>>> import core
>>> core.masks.causal(2).int().tolist()
[[1, 0], [1, 1]]
"""

from core import edits, masks
from core.checkpoints import open_model
from core.decoding import Beam, Greedy, Sample, Step, decode
from core.errors import InputError
from core.model import Model
from core.run import Attention, Run
from core.trace import OFF, Recorder, Tap, Trace, record

__version__ = "0.1.0"
__all__ = [
    "OFF", "Attention", "Beam", "Greedy", "InputError", "Model", "Recorder", "Run", "Sample", "Step", "Tap", "Trace",
    "decode", "edits", "masks", "open_model", "record",
]  # fmt: skip
