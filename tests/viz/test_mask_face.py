"""The mask editor before it reaches the browser: presets, and an edit that comes back."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from packets import unrun

from viz.instruments.kit.payload import runs
from viz.instruments.mask_editor.mask_editor import edited_mask, fingerprint, mask_editor_packet


def test_presets_travel_as_runs() -> None:
    masks = {"causal": np.tri(4, dtype=bool), "<b>none</b>": np.zeros((4, 4))}
    packet = mask_editor_packet(np.ones((4, 4)), "abcd", "abcd", presets=masks)
    assert packet.header["presets"] == ["causal", "<b>none</b>"]
    for i, mask in enumerate(masks.values()):
        assert np.array_equal(
            unrun(packet.parts[packet.header[f"preset{i}"]], 16).reshape(4, 4), np.asarray(mask) > 0
        )


def test_presets_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'causal' has shape \(3, 3\); the mask has \(4, 4\)"):
        mask_editor_packet(np.ones((4, 4)), "abcd", "abcd", presets={"causal": np.tri(3)})


def test_a_preset_does_not_begin_a_new_edit() -> None:
    """The base is the mask that was handed in: an answer of the browser still fits when presets come or go."""
    start = np.tri(3, dtype=bool)
    with_, without = (
        mask_editor_packet(start, "abc", "abc", presets=p).header["base"]
        for p in ({"all": np.ones((3, 3))}, None)
    )
    assert with_ == without == fingerprint(start)
    answer = {"base": with_, "runs": base64.b64encode(runs(~start)).decode()}
    assert np.array_equal(edited_mask(answer, start, with_), ~start)


def test_another_turn_begins_a_new_edit_of_the_same_mask() -> None:
    start = np.tri(3, dtype=bool)
    first, second = (mask_editor_packet(start, "abc", "abc", turn=turn).header["base"] for turn in (0, 1))
    answer = {"base": first, "runs": base64.b64encode(runs(~start)).decode()}
    assert np.array_equal(edited_mask(answer, start, second), start)


def test_the_edit_so_far_travels_beside_the_start() -> None:
    start, now = np.tri(3, dtype=bool), np.ones((3, 3), dtype=bool)
    packet = mask_editor_packet(start, "abc", "abc", now=now)
    assert unrun(packet.parts[packet.header["now"]], 9).all()
    assert np.array_equal(unrun(packet.parts[packet.header["start"]], 9).reshape(3, 3), start)
