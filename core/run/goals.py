"""Gradients of one number, such as a logit, for every recorded value of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from core.errors import InputError
from core.trace import Trace

if TYPE_CHECKING:
    from jaxtyping import Float


Goal = str | Callable[[Tensor], Tensor]
"""The number that is differentiated: "logit:TOKEN", "class:NAME", or a function of the scores to one number: logits (pos vocab), tags (pos tag), the edges of an answer (edge pos), classes (class) or a score (1)."""

CLASS, FUNCTION = "'class:NAME'", "a function of its scores"


def goal_of(
    model: Any, scores: Float[Tensor, "..."], grad: Goal, row: Callable[[], int]
) -> Float[Tensor, ""]:
    """Return the scalar to differentiate: the logit of "logit:TOKEN" at position `row()`, the score of "class:NAME", or `grad(scores)` for a function.

    Raises InputError for a goal that this model has no score for.
    """
    if not isinstance(grad, str):
        return grad(scores)
    kind, _, name = grad.partition(":")
    if model.main_output == "logits":
        if kind == "logit":
            return scores[row(), model.token_id(name)]
        raise InputError(
            f"grad='{grad}' is unknown.", "A gradient is asked for as 'logit:TOKEN'.", "Name a token."
        )
    classes = model.class_names
    if kind == "class" and name in classes:
        return scores[classes.index(name)]
    raise InputError(
        f"grad='{grad}' is unknown.",
        f"A gradient of {model.name} is asked for as {CLASS if classes else FUNCTION}.",
        f"Name one of {', '.join(classes)}." if classes else "Give a function.",
    )


def gradients(goal: Float[Tensor, ""], trace: Trace) -> dict[str, Tensor]:
    """Return the gradient of `goal` for each recorded value, by path; zeros where the goal does not depend on it."""
    paths = [path for path in trace if trace[path].requires_grad]
    found = torch.autograd.grad(goal, [trace[path] for path in paths], allow_unused=True)
    return {
        path: torch.zeros_like(trace[path]) if g is None else g for path, g in zip(paths, found, strict=True)
    }
