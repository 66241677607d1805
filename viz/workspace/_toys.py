"""The models of toy tasks: they read letters and digits, not sentences, so that each has texts of its own."""

from __future__ import annotations

from types import MappingProxyType

COPIERS = tuple(f"copy-{cell}{attends}" for cell in ("lstm", "gru", "rnn") for attends in ("-attention", ""))
KIND = MappingProxyType(dict.fromkeys(COPIERS, "copy") | {"prompt-tiny": "prompt", "induction-tiny": "repeat"})
"""The kind of texts, in `assets/texts/presets.tsv`, that a model reads."""
BOX = {
    "copy": "Letters to be copied, with spaces between",
    "prompt": "copy: or reverse: or upper: and letters, then =",
    "repeat": "Letters and digits that come twice, with spaces between",
}
