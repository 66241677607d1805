"""A picture in a notebook: an anywidget where that package is installed (`pip install "attention-atlas[notebook]"`), else a frame.

An anywidget runs the app's own modules in the notebook's page (Jupyter, VS Code, Colab, marimo), and what is touched comes back:

    picture = viz.heatmap(run, layer=2, head=5)
    picture.observe(lambda change: print(change.new), "selected")     # {'cell': [3, 1]}: query and key

No page of the app imports this module, so a server never loads a notebook's packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from viz.instruments.kit.component import Instrument, module
from viz.instruments.kit.origin import Origin
from viz.instruments.kit.payload import Packet
from viz.instruments.kit.picture import Picture as FramedPicture

try:
    import traitlets  # pyrefly: ignore[missing-import] - comes with anywidget
    from anywidget import AnyWidget
except ImportError:
    AnyWidget = None

if TYPE_CHECKING or AnyWidget is None:
    Picture = FramedPicture
else:

    class Picture(FramedPicture, AnyWidget):
        """An instrument with what it draws, as a widget: `selected` is what was touched last, by name; None before.

        {"cell": [query, key]} of a heatmap, {"head": [layer, head]} of all heads, {"query": i} or {"key": i} of words.
        """

        _esm = module()
        _packet = traitlets.Bytes().tag(sync=True)
        caption = traitlets.Unicode().tag(sync=True)
        selected = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)

        def __init__(
            self,
            instrument: Instrument,
            packet: Packet,
            *,
            name: str = "attention",
            height: int = 480,
            origin: Origin | None = None,
        ) -> None:
            FramedPicture.__init__(self, instrument, packet, name=name, height=height, origin=origin)
            AnyWidget.__init__(self, caption=name, _packet=self.packet_bytes())
