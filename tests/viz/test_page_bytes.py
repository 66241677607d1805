"""How many bytes a page sends: the script and the sheets of its own components are fetched once, as files."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path

from starlette.requests import Request
from streamlit.testing.v1 import AppTest

from viz.platform import scripts

ROOT = Path(__file__).parents[2]
TEXT = "the old man saw the little white house near a tree and gave the tired red dog an apple and a loaf of bread because he was very happy "
OUTSIDE = 6_000
"""Bytes, with a margin, of what Streamlit adds to a run (the theme, the names of all pages): 203.4 kB come over the wire where 200.0 are counted here."""


def page_bytes(test: AppTest) -> int:
    """Count the bytes of the elements of a page that has run."""
    return sum(one.proto.ByteSize() for one in test.main if getattr(one, "proto", None) is not None)


def test_all_heads_and_another_head_fit_into_their_bytes() -> None:
    """The budgets of tests/bench/test_wire_bytes.py, without a server."""
    test = AppTest.from_file(ROOT / "viz" / "frame.py", default_timeout=120)
    for name, value in {"model": "gpt-mini", "text": TEXT * 2, "view": "heads"}.items():
        test.query_params[name] = value
    assert 50_000 < page_bytes(test.run()) <= 214_000 - OUTSIDE
    test.query_params["layer"], test.query_params["head"] = "2", "5"
    assert 5_000 < page_bytes(test.run()) <= 40_000 - OUTSIDE


def fetch(path: str, accepts: str = "gzip, br"):
    return asyncio.run(
        scripts.answer(
            Request(
                {
                    "type": "http",
                    "method": "GET",
                    "path": f"/{path}",
                    "path_params": {"name": path.rpartition("/")[2]},
                    "headers": [(b"accept-encoding", accepts.encode())],
                }
            )
        )
    )


def test_a_script_is_fetched_by_a_name_that_changes_with_it(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(scripts, "_files", {})
    sheet, script = tmp_path / "a.css", tmp_path / "a.js"
    sheet.write_text('p::before { content: "</style>"; }', "utf-8")
    loaders = set()
    for text in ("export default () => {};", "export default () => 1;"):
        script.write_text(text, "utf-8")
        loaders.add(scripts.register("a", sheet, script))
    assert len(loaders) == len({*scripts.names()}) == 2
    for loader, name in zip(sorted(loaders), sorted(scripts.names()), strict=True):
        assert f"../../{name}" in loader and "</style>" not in loader
    packed, plain = fetch(scripts.names()[0]), fetch(scripts.names()[0], "br")
    assert gzip.decompress(packed.body) == plain.body and plain.body.endswith(b"export default () => {};")
    assert packed.headers["content-encoding"] == "gzip" and "content-encoding" not in plain.headers
    assert "immutable" in plain.headers["cache-control"] and plain.media_type == "text/javascript"
    assert fetch("script/a.000000000000.js").status_code == 404
