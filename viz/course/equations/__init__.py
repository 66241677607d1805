"""Every equation of the course as data: in both conventions, with its place in the sources and the meaning of each symbol.

EQUATIONS["attention.context"].signs["a_ij"].word
"""

from pathlib import Path

from viz.course.equations.form import Equation, Node, Sign, equations, glyph

PARTS = (
    "why",
    "recurrent",
    "look_up",
    "scores",
    "self_attention",
    "convolution",
    "blocks",
    "training",
    "bert",
    "spans",
    "tuning",
    "language",
    "both_ways",
    "sizes",
)
EQUATIONS: dict[str, Equation] = {
    key: found for part in PARTS for key, found in equations(Path(__file__).with_name(f"{part}.toml")).items()
}

__all__ = ["EQUATIONS", "Equation", "Node", "Sign", "glyph"]
