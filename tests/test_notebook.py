"""The example notebook runs from top to bottom as it stands."""

from __future__ import annotations

import json
from pathlib import Path

NOTEBOOK = Path(__file__).parent.parent / "examples" / "explore.ipynb"


def test_the_notebook_runs(capsys):
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    space: dict[str, object] = {}
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for source in code:
        exec(compile(source, str(NOTEBOOK), "exec"), space)
    assert len(code) >= 5 and "decoder.layer.0.cross_attn.pattern" in capsys.readouterr().out
    assert all(cell.get("outputs", []) == [] for cell in cells), "the notebook is kept without outputs"
