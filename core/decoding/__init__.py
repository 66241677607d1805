"""Generation of text one token at a time: greedy, sampled, or with a beam; every step is a record that can be shown and replayed."""

from core.decoding.beam_hypothesis import hypothesis_steps
from core.decoding.choose import Candidate, FilterEffect, SampledNumber
from core.decoding.compare import ComparedText, Comparison, ScoredToken, compare
from core.decoding.decode import decode
from core.decoding.prompt import Window, fit_prompt, prompt_of
from core.decoding.replay import Replay
from core.decoding.rows import Rows
from core.decoding.step import Step
from core.decoding.strategies import Beam, Greedy, Sample, Strategy
from core.decoding.tree import Node, Ranked, Tree, n_best

__all__ = [
    "Beam",
    "Candidate",
    "ComparedText",
    "Comparison",
    "FilterEffect",
    "Greedy",
    "Node",
    "Ranked",
    "Replay",
    "Rows",
    "Sample",
    "SampledNumber",
    "ScoredToken",
    "Step",
    "Strategy",
    "Tree",
    "Window",
    "compare",
    "decode",
    "fit_prompt",
    "hypothesis_steps",
    "n_best",
    "prompt_of",
]
