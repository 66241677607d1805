"""What the parts of the exhibit on costs share."""

SLUG = "complexity."


def times(ratio: float) -> str:
    """How much cheaper (ratio above 1) or dearer self-attention is.

    >>> times(10.24), times(0.125), times(1.0)
    ('self-attention is 10 times cheaper', 'self-attention is 8 times more expensive', 'both the same')
    """
    if ratio == 1:
        return "both the same"
    factor = ratio if ratio > 1 else 1 / ratio
    return f"self-attention is {factor:.2g} times {'cheaper' if ratio > 1 else 'more expensive'}" if factor < 100 else f"self-attention is {factor:,.0f} times {'cheaper' if ratio > 1 else 'more expensive'}"
