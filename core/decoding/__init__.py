"""Writing one token at a time: greedy, by lot, or with a beam; every step a record that can be shown and replayed."""

from core.decoding.beam_hypothesis import along
from core.decoding.choose import Candidate, Cut, Draw
from core.decoding.compare import Comparison, Side, Written, compare
from core.decoding.decode import decode
from core.decoding.prompt import Window, fit, prompt_of
from core.decoding.replay import Replay
from core.decoding.rows import Rows
from core.decoding.step import Step
from core.decoding.strategies import Beam, Greedy, Sample, Strategy
from core.decoding.tree import Node, Ranked, Tree, n_best

__all__ = [
    "Beam",
    "Candidate",
    "Comparison",
    "Cut",
    "Draw",
    "Greedy",
    "Node",
    "Ranked",
    "Replay",
    "Rows",
    "Sample",
    "Side",
    "Step",
    "Strategy",
    "Tree",
    "Window",
    "Written",
    "along",
    "compare",
    "decode",
    "fit",
    "n_best",
    "prompt_of",
]
