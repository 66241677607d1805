"""What is drawn again is not made again: figures, runs of a model, what files say."""

from __future__ import annotations

import asyncio
import functools
import importlib
import inspect
import typing
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import altair as alt
import plotly.graph_objects as go
import pytest
from plotly.basedatatypes import BaseFigure
from streamlit.testing.v1 import AppTest
from test_pages import PICTURES, STILL

import core.serving.engine
import viz
from core.checkpoints import manifest
from core.jobs import names
from tests.app_server import started_app
from tests.bench.wire import Visit
from viz.charts.parts import figures
from viz.memo import Memo, remembered
from viz.shell import pages
from viz.workspace.models import page as models

SCRIPT = "from viz.shell import pages\nnext(entry for entry in pages.discover() if entry.slug == {slug!r}).page()\n"
PARTS = "viz.charts.parts."
"""Its functions make parts of figures."""
STILL_LOADING = b"still being loaded"
NOISE = ("ScriptRunContext", "Couldn't find fragment", "Traceback", "atlas")
"""What Streamlit says of a thread that draws without a page and of a part that is gone, what went wrong, and what the app itself warns of."""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a figure was begun, or read off."""
    found: Counter[str] = Counter()

    def count(where: type, name: str) -> None:
        honest = getattr(where, name)

        @functools.wraps(honest)
        def counted(*given: Any, **more: Any) -> Any:
            found[f"{where.__name__}.{name}"] += 1
            return honest(*given, **more)

        monkeypatch.setattr(where, name, counted)

    for where, name in (
        (alt.Chart, "__init__"),
        (alt.TopLevelMixin, "to_dict"),
        (go.Figure, "__init__"),
        (BaseFigure, "to_dict"),
    ):
        count(where, name)
    return found


def charts() -> dict[Any, Any]:
    """Return the charts that are remembered, by what they draw."""
    kinds = (alt.TopLevelMixin, go.Figure)
    return {key: entry.value for key, entry in remembered._entries.items() if isinstance(entry.value, kinds)}


@pytest.mark.quick(6)
@pytest.mark.parametrize("entry", pages.discover(), ids=lambda entry: entry.slug)
def test_a_page_draws_and_drawn_again_makes_no_figure_and_a_room_changes_none(
    entry: pages.Entry, made: Counter[str]
) -> None:
    remembered.clear()
    test = AppTest.from_string(SCRIPT.format(slug=entry.slug), default_timeout=120).run()
    assert not test.exception
    kinds = (test.title, test.header, test.markdown, test.text, test.caption)
    said = "\n".join(str(element.value) for kind in kinds for element in kind)
    assert entry.info.title in said or entry.info.claim in said
    if entry.slug not in STILL:  # the "Start over" button is a component too
        assert sum(len(test.get(kind)) for kind in PICTURES) > 1
    made.clear()
    before = core.serving.engine.default().forwards
    assert not test.run().exception
    assert made == Counter() and core.serving.engine.default().forwards == before, (
        "nothing is asked of a model"
    )
    if isinstance(entry.info, pages.ExhibitInfo):
        before = {key: figure.to_json() for key, figure in charts().items()}
        test.query_params["present"] = "1"
        assert not test.run().exception
        after = charts()
        assert {key: after[key].to_json() for key in before} == before


def test_every_figure_is_kept() -> None:
    root = Path(viz.__file__).parent
    homes = sorted(
        file
        for file in root.rglob("*.py")
        if "charts" in (*file.relative_to(root).parts[:-1], file.stem) and file.stem != "__init__"
    )
    assert len(homes) > 40
    for file in homes:
        name_of_file = ".".join(file.relative_to(root.parent).with_suffix("").parts)
        home = importlib.import_module(name_of_file)
        for name, function in inspect.getmembers(home, inspect.isfunction):
            if name.startswith("_") or function.__module__ != name_of_file or name_of_file.startswith(PARTS):
                continue
            told = typing.get_type_hints(function)
            gives = typing.get_args(told.get("return")) or (told.get("return"),)
            if (
                any(
                    isinstance(kind, type) and issubclass(kind, (alt.TopLevelMixin, go.Figure))
                    for kind in gives
                )
                and typing.get_origin(told.get("return")) is not list
                and not {go.Figure, alt.X} & {*list(told.values())[:-1]}  # else it draws parts of a figure
            ):
                assert hasattr(function, "__wrapped__"), (
                    f"{name_of_file}.{name} draws again with every run: @draw_once"
                )


def test_another_number_is_another_chart_and_a_large_one_is_drawn_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(figures, "LARGEST", 1000)
    drawn: list[Any] = []

    @figures.draw_once
    def bars(values: list[Any], *, height: int = 1) -> list[Any]:
        drawn.append((values, height))
        return [values]

    for _ in range(2):
        bars([1])
        bars([1.0])
        bars([True])
        bars([True], height=2)
    assert len(drawn) == 4
    assert bars([0] * 1000) is not bars([0] * 1000)


def test_a_moment_of_a_model_is_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    verified: list[str] = []
    monkeypatch.setattr(manifest, "verify", lambda name, models=None: verified.append(name))
    names._step_listing.cache_clear()
    found = {names.resolve_name("gpt-twin at step 437") for _ in range(3)}
    names._step_listing.cache_clear()
    assert [listing.ok for listing in found if listing] == [True] and verified == ["gpt-twin"]


def test_a_manifest_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    path = tmp_path / "MANIFEST.toml"
    for name in ("one", "other-one"):
        path.write_text(f'[models."{name}"]\n', "utf-8")
        found = manifest.read_manifest(tmp_path / "models")
        assert list(found) == [name]
        found.clear()
        assert list(manifest.read_manifest(tmp_path / "models")) == [name]


def test_the_weights_of_a_model_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = core.serving.engine.default().open("gpt-mini")
    counted = model.n_parameters
    monkeypatch.setattr(model.network, "parameters", lambda: pytest.fail("counted again"))
    assert model.n_parameters == counted > 0


def test_the_files_of_a_model_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = models.compute()
    monkeypatch.setattr(models, "read_scores", lambda folder: pytest.fail(f"read again: {folder}"))
    assert models.compute() == first


@pytest.mark.slow
def test_a_first_visit_asks_nothing_of_a_model_and_the_log_has_nothing_to_tell(tmp_path: Path) -> None:
    """Once all is loaded behind the first screen; then a text that nobody brought before is computed, in the thread of the engine."""

    async def visited(url: str) -> None:
        visit = await Visit.opened(url, listens=(STILL_LOADING,))
        while (await visit.ask("about", {})).heard:
            await asyncio.sleep(0.2)
        await visit.close()
        before = forwards(url)
        for entry in pages.discover():
            visit = await Visit.opened(url)
            answer = await visit.ask(entry.slug, {})
            await visit.close()
            assert not answer.wrong
            assert forwards(url) == before, entry.slug
        for slug in ("", "what_if", "importance", "inside", "compare", "decode"):
            visit = await Visit.opened(url)
            assert not (
                await visit.ask(slug, {"model": "gpt-mini", "text": "Her brother sold the blue boat"})
            ).wrong
            await visit.close()
        assert forwards(url) > before

    def forwards(url: str) -> int:
        with urllib.request.urlopen(f"{url}/forwards", timeout=10) as answer:
            return int(answer.read())

    with started_app(
        tmp_path, command=("streamlit", "run", "tests/bench/counted.py"), PYTHONPATH="."
    ) as server:
        asyncio.run(visited(server.url))
        said = server.log.read_text("utf-8", "replace")
    assert [line for line in said.splitlines() if any(noise in line for noise in NOISE)] == []


def test_the_memo_holds_a_class_within_its_budget_and_nothing_of_what_is_gone() -> None:
    memo, calls = Memo(budget=10_000), list[int]()
    runs = [type("Run", (), {})() for _ in range(100)]

    def value(size: int) -> bytes:
        calls.append(size)
        return bytes(size)

    for _ in range(2):
        for run in runs:
            memo(run, "tiles", lambda: value(60))
    assert len(calls) == 100, "a class of 100 finds all that it comes back to"
    memo(runs[0], "large", lambda: value(4_000))
    memo(runs[0], "tiles", lambda: value(60))
    assert len(calls) == 102 and sum(entry.nbytes for entry in memo._entries.values()) <= 10_000
    memo(runs[99], "too large", lambda: value(20_000))
    assert memo(runs[99], "tiles", lambda: value(60)) and len(calls) == 103
    del runs[:99]
    memo(runs[0], "another", lambda: value(60))
    assert len(memo._entries) == 2
