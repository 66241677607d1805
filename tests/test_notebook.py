"""The notebooks run from top to bottom as they stand, their pictures display themselves, and the table of ten tasks counts their lines."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

import core
from core import analysis

EXAMPLES = Path(__file__).parent.parent / "examples"
README = EXAMPLES.parent / "core" / "README.md"


def cells_of(name: str) -> list[dict[str, Any]]:
    """Return the cells of a notebook, which is stored without outputs."""
    cells = json.loads((EXAMPLES / name).read_text(encoding="utf-8"))["cells"]
    assert all(cell.get("outputs", []) == [] for cell in cells), "the notebook is kept without outputs"
    assert len({cell["id"] for cell in cells}) == len(cells)
    return cells


def run_cell(source: str, space: dict[str, object], name: str) -> object:
    """Run one cell and return the value of its last line, as Jupyter shows it."""
    tree = ast.parse(source, name)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), space)
    return (
        eval(compile(ast.Expression(last.value), name, "eval"), space) if isinstance(last, ast.Expr) else None
    )


def run_notebook(
    name: str, space: dict[str, object] | None = None, few: tuple[str, str] = ("", "")
) -> list[object]:
    """Run all cells of a notebook and return what each shows; `few` is a line and what stands in its place, once."""
    space = {} if space is None else space
    sources = ["".join(cell["source"]) for cell in cells_of(name) if cell["cell_type"] == "code"]
    assert few[0] in "".join(sources)
    return [run_cell(source.replace(*few, 1), space, name) for source in sources]


def test_the_notebook_runs(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # what it saves
    results = run_notebook("explore.ipynb")
    out = capsys.readouterr()
    assert len(results) >= 10 and "decoder.layer.0.cross_attn.pattern" in out.out and out.err == ""
    pictures = [result for result in results if hasattr(result, "_repr_html_")]
    assert len(pictures) == 8
    for picture in pictures:
        assert (
            picture._repr_html_().startswith("<div><iframe ")
            and "http" not in picture.packet.header["python"]
        )


@pytest.mark.parametrize("n", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_ten_tasks_run_and_agree_with_each_other(capsys, monkeypatch, tmp_path, n):
    """With a tenth of the thousand texts, and in the long run with all of them."""
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    results = run_notebook("ten_tasks.ipynb", space, ("for a in who for", f"for a in who[:{n // 100}] for"))
    assert hasattr(results[-1], "_repr_html_")
    figure = (tmp_path / "figure.svg").read_text("utf-8")
    assert figure.startswith("<svg") and "queen" in figure
    run, answer, parts = space["run"], space["answer"], space["parts"]
    house, castle = (float(run.logits[-1][run.model.token_id(f" {word}")]) for word in ("house", "castle"))
    assert answer.row == 8 and abs(answer.value(run.scores) - (house - castle)) < 1e-6
    assert abs(parts.total - (house - castle)) < 1e-3 and f"{house - castle:.3f} " in capsys.readouterr().out
    assert all(len(repr(value)) < 160 for value in (space["lens"], parts))
    for row, token, wrong in (
        (-10, " house", "no row -10"),
        (9, 0, "no row 9"),
        (0, "a house", "not one token"),
    ):
        with pytest.raises(core.InputError, match=wrong):
            analysis.output_target(run, row, token)
    assert space["restored"].shape == (6, 6) and abs(space["restored"][0, 1] - 1) < 1e-3
    assert run.choice(int(space["lens"].ids[-1, -1, 0])) == " house"
    assert space["induction"][1].min() > 0.9 > space["induction"][0].max()
    assert len(space["results"]) == n and not space["results"].errors
    assert space["change"].shape == (2, 2)


def counted_lines(source: str) -> int:
    """Return the lines of a cell without imports, prints and names that are only displayed.

    >>> counted_lines("import core\\nx = f(\\n  1\\n)\\nprint(x)\\nx\\nviz.grid(x)")
    4
    """
    counted = [
        node
        for node in ast.parse(source).body
        if not isinstance(node, ast.Import | ast.ImportFrom)
        and not (
            isinstance(node, ast.Expr)
            and (isinstance(node.value, ast.Name) or ast.unparse(node).startswith("print("))
        )
    ]
    return sum((node.end_lineno or 0) - node.lineno + 1 for node in counted)


def test_the_table_of_ten_tasks_counts_the_lines_of_the_notebook():
    """None needs more lines here than in a library beside it."""
    tasks = {
        cell["metadata"]["task"]: counted_lines("".join(cell["source"]))
        for cell in cells_of("ten_tasks.ipynb")
        if "task" in cell["metadata"]
    }
    table = README.read_text("utf-8").partition("<!-- ten tasks -->")[2].partition("<!-- /ten tasks -->")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.strip().splitlines()[2:]]
    assert {int(row[0].partition(".")[0]): int(row[1]) for row in rows} == tasks and len(tasks) == 10
    for row in rows:
        for peer in row[3:]:
            lines = re.match(r"\d+", peer)
            assert lines is None or int(row[1]) <= int(lines.group()), row
