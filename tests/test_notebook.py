"""The example notebook runs from top to bottom as it stands, and its pictures display themselves."""

from __future__ import annotations

import ast
import json
from pathlib import Path

NOTEBOOK = Path(__file__).parent.parent / "examples" / "explore.ipynb"


def shown(source: str, space: dict[str, object]) -> object:
    """Run one cell; what its last line is, as Jupyter shows it."""
    tree = ast.parse(source, str(NOTEBOOK))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(NOTEBOOK), "exec"), space)
    return (
        eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), space)
        if isinstance(last, ast.Expr)
        else None
    )


def test_the_notebook_runs(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # what it saves
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    space: dict[str, object] = {}
    results = [shown("".join(cell["source"]), space) for cell in cells if cell["cell_type"] == "code"]
    out = capsys.readouterr()
    assert len(results) >= 10 and "decoder.layer.0.cross_attn.pattern" in out.out and out.err == ""
    assert all(cell.get("outputs", []) == [] for cell in cells), "the notebook is kept without outputs"
    assert len({cell["id"] for cell in cells}) == len(cells)
    pictures = [result for result in results if hasattr(result, "_repr_html_")]
    assert len(pictures) == 8
    for picture in pictures:
        assert (
            picture._repr_html_().startswith("<div><iframe ")
            and "http" not in picture.packet.header["python"]
        )
