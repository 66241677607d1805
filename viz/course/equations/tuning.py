"""Fine-tuning: which weights take a step, and how far the body went."""

from __future__ import annotations

from viz.course.equations.form import Place, Sign, equation, number

SIGNS: dict[str, Sign] = {
    "theta": number(
        "a weight of the body",
        "learned before, on other texts",
        "Any weight of the trained model below the head.",
    ),
    "W": number("a weight of the head", "drawn at random, then learned", "Any weight of the new head."),
    "eta": number("learning rate", "chosen", "How far one step goes."),
    "g_theta": number(
        "gradient of the body's weight",
        "the derivative of the loss of the task",
        "It is computed only where the body learns, too.",
    ),
    "g_W": number(
        "gradient of the head's weight",
        "the derivative of the loss of the task",
        "In this direction the loss grows, so the step goes the other way.",
    ),
    "far": number("how far", "the weights before and after", "0 for a body that was frozen."),
    "delta": number("a movement", "after minus before", "How far one weight of a layer moved."),
    "before": number("a weight before", "the trained model", "The weight that tuning began from."),
}
BOTH: list[Place] = [
    ("ghojogh2020", "section 4", ""),
    ("ghojogh2023", "BERT", ""),
    ("devlin2019", "section 5.3", ""),
]

EQUATIONS = (
    equation(
        "tuning.frozen",
        "Frozen: the head takes steps",
        "lines{ W <- W - eta g_W }{ theta <- theta }",
        "",
        BOTH,
        SIGNS,
        note="No gradient of the body is computed at all.",
    ),
    equation(
        "tuning.full",
        "Full fine-tuning: all take steps",
        "lines{ W <- W - eta g_W }{ theta <- theta - eta g_theta }",
        "",
        BOTH,
        SIGNS,
        note="Here the step is Adam's, with a smaller rate for the body.",
    ),
)
