"""Every equation of the course as data: both conventions, where it stands, what each symbol means.

EQUATIONS["attention.context"].signs["a_ij"].word
"""

from viz.course.equations import (
    bert,
    blocks,
    language,
    look_up,
    recurrent,
    scores,
    self_attention,
    sizes,
    spans,
    training,
    tuning,
    why,
)
from viz.course.equations.form import Equation, Node, Sign, glyph

EQUATIONS: dict[str, Equation] = {
    found.key: found
    for part in (
        why,
        recurrent,
        look_up,
        scores,
        self_attention,
        blocks,
        training,
        bert,
        spans,
        tuning,
        language,
        sizes,
    )
    for found in part.EQUATIONS
}

__all__ = ["EQUATIONS", "Equation", "Node", "Sign", "glyph"]
