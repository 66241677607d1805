"""What is seen: figures, instruments, pages. Knows `core`; `core` never knows this package.

In a notebook, without the app, the instruments display themselves:

    import core
    import viz

    run = core.open_model("translator-en-es").run("She has a white car.")
    viz.head_view(run, layer=2)

`kind` is one of `run.kinds` (None: the most telling one), `by` is "word" or "token", layers and heads count from 0.
Where a head may be a word, "mean", "largest" and "rollout" join the heads of each layer (`core.analysis.attention.aggregate`).
Each returns a `Picture`: the last line of a cell shows it, `.save("picture.html")` writes a page that works offline.
A layer, a head or a kind that the run does not have is an InputError that says which there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.run import Run
    from viz.instruments.kit.picture import Picture

__all__ = ["arithmetic", "draw", "grid", "head_view", "heatmap", "source", "strip", "words"]


def head_view(
    run: Run, layer: int = 0, heads: Sequence[int] | str | None = None, kind: str | None = None, by: str = "word"
) -> Picture:
    """Lines from each token to what it looks at: all heads of a layer, or those named in `heads`."""
    from viz.instruments.kit import notebook

    return notebook.head_view(run, layer, heads, kind, by)


def heatmap(run: Run, layer: int = 0, head: int | str = 0, kind: str | None = None, by: str = "word") -> Picture:
    """One head as a grid of cells, query rows and key columns, with the exact values under the pointer.

    By token it has further lenses: the scores before the softmax, and the weights times the size of the values.
    """
    from viz.instruments.kit import notebook

    return notebook.heatmap(run, layer, head, kind, by)


def grid(run: Run, kind: str | None = None, by: str = "word") -> Picture:
    """Every layer and head of the run as a thumbnail."""
    from viz.instruments.kit import notebook

    return notebook.grid(run, kind, by)


def words(run: Run, layer: int = 0, head: int = 0, kind: str | None = None) -> Picture:
    """The text in large type: touch a word and see what one head looks at, with the sentence that says so."""
    from viz.instruments.kit import notebook

    return notebook.words(run, layer, head, kind)


def strip(run: Run, layer: int = 0, head: int | str = 0, kind: str | None = None, by: str = "word") -> Picture:
    """The running text, each word shaded by what a touched one gives it, or receives from it; on wish one line a word."""
    from viz.instruments.kit import notebook

    return notebook.strip(run, layer, head, kind, by)


def arithmetic(run: Run, layer: int = 0, head: int = 0, query: int = -1, key: int | None = None, kind: str | None = None) -> Picture:
    """How one weight is computed from the tensors of this run, line by line, and what it then does.

    query and key are positions of tokens; without a key it is the one that this query looks at most.
    """
    from viz.instruments.kit import notebook

    return notebook.arithmetic(run, layer, head, query, key, kind)


def source(run: Run, layer: int = 0, kind: str | None = None, path: str | None = None) -> Picture:
    """The lines of code that made the attention of a layer, beside the numbers of one tensor (`path`; first the pattern)."""
    from viz.instruments.kit import notebook

    return notebook.source(run, layer, kind, path)


def draw(instrument: str, *arguments: Any, whose: Mapping[str, Any] | None = None, **options: Any) -> Picture:
    """Any instrument on numbers of your own: `draw("marked", words, above=chances)`.

    arguments, options: those of the instrument's packet, `viz.instruments.marked.marked.marked_packet` for "marked".
    whose: the numbers, by the names of an `Origin`: dict(model="gpt-mini", text="...", layer=1, head=5).
    """
    from viz.instruments.kit import picture

    return picture.draw(instrument, *arguments, whose=whose, **options)
