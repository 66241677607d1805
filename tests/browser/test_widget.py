"""A picture as a widget: its module with a model that only answers, without Python; and in JupyterLab with a kernel."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from app_server import ROOT, free_port, started

import viz

WORDS = ["The", "<b>old</b>", "man", "sat"]
RENDER = """async ([text, packet]) => {
  const module = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  const state = new Map([["packet", packet], ["caption", "<i>one</i> head"]]);
  globalThis.chosen = [];
  const model = { get: (name) => state.get(name), set: (name, value) => chosen.push([name, value]), save_changes() { throw new Error("not here"); } };
  globalThis.leave = await module.default.render({ model, el: document.body.appendChild(document.createElement("div")) });
  document.body.append(module.draw());
}"""


def test_the_module_of_a_picture_draws_and_tells_what_is_touched(new_page: Any, tmp_path: Path) -> None:
    look = np.array([[1, 0, 0, 0], [0.3, 0.7, 0, 0], [0.1, 0.1, 0.8, 0], [0.25, 0.25, 0.25, 0.25]])
    one, other = viz.heatmap([[look]], WORDS), viz.strip([[look]], WORDS)
    text = one.save(tmp_path / "one.mjs").read_text("utf-8")
    packet = json.loads(other.save(tmp_path / "other.json").read_text("utf-8"))["packet"]
    page = new_page(viewport={"width": 900, "height": 900}, offline=True)
    page.set_content("<!doctype html><body style='background: #111; color: #eee'>")
    page.evaluate(RENDER, [text, packet])
    strip, heatmap = page.locator(".atlas.strip[data-mode]"), page.locator(".atlas.heatmap[data-mode]")
    heatmap.wait_for()
    assert strip.get_attribute("data-mode") == heatmap.get_attribute("data-mode") == "dark"
    assert page.get_by_text("<i>one</i> head").is_visible()
    assert page.locator("i:text('one'), b:text('old')").count() == 0
    strip.get_by_text("man", exact=True).first.click()
    assert page.evaluate("chosen.at(-1)") == ["selected", {"query": 2}]
    page.evaluate("leave()")
    assert page.locator(".atlas").count() == 1


CELLS = [
    "import core, viz\nrun = core.open_model('gpt-mini').run('The old man sat by the fire.')\n"
    "picture = viz.heatmap(run, 2, 5)\n"
    "picture.observe(lambda change: open('heard.json', 'w').write(str(change.new)), 'selected')\npicture",
]


@pytest.mark.slow
def test_a_click_in_a_notebook_arrives_in_python(new_page: Any, tmp_path: Path) -> None:
    pytest.importorskip("anywidget", reason='pip install "attention-atlas[notebook]"')
    pytest.importorskip("jupyterlab", reason="pip install jupyterlab")
    cell = {"cell_type": "code", "id": "a", "execution_count": None, "metadata": {}, "outputs": []}
    notebook = {"cells": [cell | {"source": text} for text in CELLS], "nbformat": 4, "nbformat_minor": 5}
    notebook["metadata"] = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
    }
    (tmp_path / "one.ipynb").write_text(json.dumps(notebook), "utf-8")
    port = free_port()
    options = [f"--port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token=", "--allow-root"]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", *options]
    places = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    environment = os.environ | places | {"PYTHONPATH": str(ROOT)}
    with started(command, f"http://127.0.0.1:{port}/api", tmp_path / "log", cwd=tmp_path, env=environment):
        page = new_page(levels=(), viewport={"width": 1300, "height": 1000})
        page.goto(f"http://127.0.0.1:{port}/doc/tree/one.ipynb")
        page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=60_000)
        page.get_by_text("| Idle").first.wait_for(timeout=60_000)  # the kernel has started
        page.locator(".jp-CodeCell .cm-content").first.click()
        page.keyboard.press("Shift+Enter")
        heatmap = page.locator(".jp-OutputArea .atlas.heatmap[data-mode]")
        heatmap.wait_for(timeout=40_000)
        heatmap.locator(".frame").first.click(position={"x": 100, "y": 150})
        heard = tmp_path / "heard.json"
        for _ in range(100):
            if heard.exists() and heard.read_text():
                break
            page.wait_for_timeout(100)
        cell = heatmap.get_attribute("data-cell").split(",")
        assert heard.read_text() == str({"cell": [*map(int, cell)]})
