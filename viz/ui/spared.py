"""What Streamlit makes anew in every run of everybody, though it comes out the same: made once here.

(To be reported to Streamlit: `DeltaGenerator.__deepcopy__` copies its parents without the memo, so each fragment copies the
containers around it as often as they are deep; and every run fills the theme's message from the settings anew.)
"""

from __future__ import annotations

import copy
import functools
from typing import Any

from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session


def spare() -> None:
    """From now on. The settings of the theme are those of the start."""
    app_session._populate_theme_msg = _kept(app_session._populate_theme_msg)
    DeltaGenerator.__deepcopy__ = _copied  # type: ignore[method-assign]


def _kept(fill: Any) -> Any:
    """`fill` of a theme's message, done once for each section of the settings."""

    @functools.cache
    def filled(section: str) -> CustomThemeConfig:
        message = CustomThemeConfig()
        fill(message, section)
        return message

    def copied(message: CustomThemeConfig, section: str = "theme") -> None:
        message.MergeFrom(filled(section))

    return copied


def _copied(self: DeltaGenerator, memo: dict[int, Any]) -> DeltaGenerator:
    """A copy with its parents, each copied once."""
    found = DeltaGenerator(
        root_container=self._root_container, cursor=copy.deepcopy(self._cursor, memo),
        parent=copy.deepcopy(self._parent, memo), block_type=self._block_type)  # fmt: skip
    found._form_data = copy.deepcopy(self._form_data, memo)
    found._creating_fragment_id = self._creating_fragment_id
    return found
