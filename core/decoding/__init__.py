"""Writing one token at a time: greedy, by lot, or with a beam; every step a record that can be shown and replayed."""

from core.decoding.beam import Node, Tree
from core.decoding.decode import decode
from core.decoding.prompt import Window, fit
from core.decoding.replay import Replay
from core.decoding.steps import Candidate, Cut, Draw, Step
from core.decoding.strategies import Beam, Greedy, Sample, Strategy

__all__ = ["Beam", "Candidate", "Cut", "Draw", "Greedy", "Node", "Replay", "Sample", "Step", "Strategy", "Tree", "Window", "decode", "fit"]
