"""Boxes and arrows that one can open: a plan with a small picture of real numbers in each box.

Touch a box, or reach the plan with Tab and go from box to box with the arrow keys (up is onward, as the data flows):
the box is marked at once and Python hears which one it is (`picked`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz.instruments.kit.component import Instrument, nothing, stored
from viz.instruments.kit.payload import Packet
from viz.instruments.kit.spec import Spec, as_function

DIAGRAM = Instrument("attention_atlas_diagram", "diagram/diagram", numbers=False)
THUMB = (24, 48)
Spot = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Node:
    """A box. Its `center` is (percent of the width, rows from the top), its `size` too; `label` is written in it.

    hue: number of a categorical colour. small: a small round sign, such as a sum. picture: a matrix drawn in the box,
    from 0 to 1, or `centred` on 0. struck: crossed out, it is not there.
    """

    name: str
    label: str
    center: Spot
    size: Spot
    hue: int = 0
    tooltip: str = ""
    """The tooltip."""
    small: bool = False
    picture: ArrayLike | None = None
    centred: bool = True
    struck: bool = False


@dataclass(frozen=True)
class Edge:
    """An arrow through these points; `strong`: a connection that passes a box unchanged."""

    points: tuple[Spot, ...]
    strong: bool = False


@dataclass(frozen=True)
class Frame:
    """A frame around boxes, from its upper left corner, with a word beside it."""

    corner: Spot
    size: Spot
    label: str = ""
    label_left: bool = True


@dataclass(frozen=True)
class Text:
    """Words in the plan, in the middle of a place, at most `wide` percent; every one is a token of its own."""

    words: tuple[str, ...]
    center: Spot
    wide: float
    quiet: bool = False
    marked: int | None = None


@dataclass(frozen=True, eq=False)
class Diagram(Spec):
    """Boxes and arrows: the plan is `rows` rows of `row` pixels high. Nodes come in the order of computing.

    on_pick: called before the run that answers a touch.

    Raises ValueError for two boxes of one name, or a `selected` that is none of them.

    Example:
        >>> packet = Diagram([Node("a", "A", (50, 1), (40, 1), picture=[[0.0, 2.0]])], rows=2, selected="a").packet()
        >>> packet.header["nodes"][0]["picture"], packet.parts[packet.header["thumb.0"]]
        ([1, 2], b'\\x80\\xff')
        >>> diagram([Node("a", "Embedding", (50, 1), (40, 1))], key="d", rows=2)    # doctest: +SKIP
    """

    nodes: Sequence[Node]
    _: KW_ONLY
    rows: float
    edges: Sequence[Edge] = ()
    frames: Sequence[Frame] = ()
    texts: Sequence[Text] = ()
    selected: str = ""
    row: float = 30
    title: str = ""
    on_pick: Callable[[], None] = nothing

    def show(self) -> None:
        """Draw it in the page."""
        packet, event = self.packet(), stored(self.key, "box")
        packet.header["echo"] = str(event.get("id", "")) if isinstance(event, dict) else ""
        DIAGRAM.show(packet, key=self.key, on_box_change=self.on_pick)

    def packet(self) -> Packet:
        nodes, selected = self.nodes, self.selected
        names = [node.name for node in nodes]
        if len(set(names)) != len(names):
            raise ValueError(f"two boxes of one name among {', '.join(names)}")
        if selected and selected not in names:
            raise ValueError(f"box {selected!r}; there are {', '.join(names)}")
        packet = Packet(
            {
                "nodes": [],
                "echo": "",
                **self.plain("rows", "row", "selected", "title", "python"),
                "edges": [
                    {"through": [list(spot) for spot in edge.points], "strong": edge.strong}
                    for edge in self.edges
                ],
                "frames": [
                    {
                        "corner": list(frame.corner),
                        "size": list(frame.size),
                        "label": frame.label,
                        "left": frame.label_left,
                    }
                    for frame in self.frames
                ],
                "texts": [
                    {
                        "words": list(text.words),
                        "at": list(text.center),
                        "wide": text.wide,
                        "quiet": text.quiet,
                        "marked": text.marked,
                    }
                    for text in self.texts
                ],
            }
        )
        for number, node in enumerate(nodes):
            small = None if node.picture is None else levels(node.picture, centred=node.centred)
            packet.header["nodes"].append(
                {
                    "name": node.name,
                    "label": node.label,
                    "at": list(node.center),
                    "size": list(node.size),
                    "hue": node.hue,
                    "tooltip": node.tooltip,
                    "small": node.small,
                    "picture": None if small is None else list(small.shape),
                    "centred": node.centred,
                    "struck": node.struck,
                }
            )
            if small is not None:
                packet.add(f"thumb.{number}", small.tobytes())
        return packet


diagram_packet = as_function(Diagram, Diagram.packet)
diagram = as_function(Diagram, Diagram.show)


def picked_box(key: str, names: Sequence[str]) -> str | None:
    """Return the box that the visitor touched last, if it is one of `names`."""
    event = stored(key, "box")
    name = event.get("name") if isinstance(event, dict) else None
    return name if isinstance(name, str) and name in names else None


def levels(values: ArrayLike, *, centred: bool) -> NDArray[np.uint8]:
    """Return a matrix as a small picture: at most 24 x 48 cells, of each patch the number farthest from 0, as 0 .. 255.

    Centred, 128 is 0 and the largest size is the end; else 0 to 1 is 0 to 255.

    Example:
        >>> levels([[0.0, -4.0, 4.0]], centred=True).tolist(), levels([[0.0, 1.0]], centred=False).tolist()
        ([[128, 1, 255]], [[0, 255]])
    """
    matrix = np.nan_to_num(np.atleast_2d(np.asarray(values, dtype=np.float64)), posinf=0, neginf=0)
    for axis, most in enumerate(THUMB):
        n = matrix.shape[axis]
        if n > most:
            each, larger = divmod(n, most)  # the first patches are larger by one
            starts = np.arange(most) * each + np.minimum(np.arange(most), larger)
            high, low = (end.reduceat(matrix, starts, axis=axis) for end in (np.maximum, np.minimum))
            matrix = np.where(np.abs(high) >= np.abs(low), high, low)
    if not centred:
        return np.rint(matrix.clip(0, 1) * 255).astype(np.uint8)
    limit = float(np.abs(matrix).max(initial=0.0)) or 1.0
    return (128 + np.rint(matrix / limit * 127)).astype(np.uint8)
