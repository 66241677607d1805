"""Models of the Hub, from a server of our own that speaks as it does: sizes first, progress, an end that is no loss, and sums."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from foreign_folders import write
from huggingface_hub import constants

import core
from core.checkpoints import hub
from core.errors import InputError
from core.jobs import user_models
from core.jobs.fetching import Fetcher

REVISION = "a1b2c3"


class Hub(ThreadingHTTPServer):
    """The folder of one model under the name own/tiny; `ranges` are the bytes from which each file was asked for."""

    folder: Path
    wrong = False

    def __init__(self, folder: Path):
        super().__init__(("127.0.0.1", 0), _Answers)
        self.folder, self.ranges = folder, list[tuple[str, int]]()
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Answers(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path == "/api/models/own/tiny":
            files = [self._sibling(file) for file in sorted(self.server.folder.iterdir())]
            self._send(json.dumps({"id": "own/tiny", "sha": REVISION, "siblings": files}).encode())
        elif path.startswith(f"/own/tiny/resolve/{REVISION}/"):
            name = path.rpartition("/")[2]
            data = (self.server.folder / name).read_bytes()
            first = int(self.headers.get("Range", "bytes=0-")[6:].rstrip("-"))
            self.server.ranges.append((name, first))
            self._send(data[first:], 206 if first else 200)
        else:
            self._send(b"{}", 404, {"X-Error-Code": "RepoNotFound"})

    def _sibling(self, file: Path) -> dict[str, object]:
        sum_ = hashlib.sha256(b"other" if self.server.wrong else file.read_bytes()).hexdigest()
        lfs = {"size": file.stat().st_size, "sha256": sum_, "pointerSize": 1}
        large = {"lfs": lfs} if file.suffix == ".safetensors" else {}
        return {"rfilename": file.name, "size": file.stat().st_size, **large}

    def _send(self, data: bytes, status: int = 200, more: dict[str, str] | None = None):
        self.send_response(status)
        for name, value in {
            "Content-Length": str(len(data)),
            "Content-Type": "application/json",
            **(more or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Nothing."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("hub"))


@pytest.fixture
def served(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub(model) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setattr(constants, "HF_HOME", str(tmp_path))
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 20_000)
        yield server
        server.shutdown()


def test_sizes_are_known_before_anything_is_fetched_and_a_notebook_opens_it(served, model):
    offer = hub.find_download("hf:own/tiny")
    assert offer.sizes["model.safetensors"] == (model / "model.safetensors").stat().st_size
    assert offer.total == sum(offer.sizes.values()) and "special_tokens_map.json" not in offer.sizes
    assert served.ranges == []
    opened = core.open_model("hf:own/tiny")
    assert opened.name == "own/tiny" and opened.run("She has a white car.").tokens
    asked = len(served.ranges)
    core.open_model("hf:own/tiny")
    assert len(served.ranges) == asked, "what is here is not fetched again"


def test_what_was_ended_goes_on_where_it_stopped(served):
    offer, heard = hub.find_download("hf:own/tiny"), list[int]()
    small = offer.total - offer.sizes["model.safetensors"]

    def tell(there: int):
        heard.append(there)
        if len(heard) == 3:
            raise InputError("Ended.", "By hand.", "Go on.")

    with pytest.raises(InputError, match="Ended"):
        hub.fetch(offer, tell)
    there = next(first for first in heard[::-1])
    heard.extend([0] * 9)
    folder = hub.fetch(offer, heard.append)
    weights = [first for name, first in served.ranges if name == "model.safetensors"]
    assert weights[0] == 0 and 0 < weights[1] < there <= offer.total and heard[-1] >= offer.total - small
    assert not list(folder.glob("*.part")) and core.open_model(folder).n_parameters


def test_a_sum_that_is_wrong_and_a_model_that_is_not_there(served):
    served.wrong = True
    with pytest.raises(InputError, match="is not what the Hub says it is"):
        hub.fetch("hf:own/tiny")
    for name in ("hf:own/other", "hf:../etc", "hf:a/b/c", "hf:", "hf:a//b"):
        with pytest.raises(InputError) as caught:
            hub.find_download(name)
        assert served.url not in str(caught.value)


def test_the_app_fetches_one_at_a_time_and_what_came_is_everybodys(served, monkeypatch):
    monkeypatch.setattr(user_models.SHELF, "_models", {})
    going, fetcher = threading.Event(), Fetcher(lambda offer, tell: going.wait(5) and hub.fetch(offer, tell))
    offer = hub.find_download("hf:own/tiny")
    fetcher.begin(offer)
    with pytest.raises(InputError, match="is being fetched"):
        fetcher.begin(offer)
    fetcher.stop()
    going.set()
    assert _end(fetcher).problem.wrong == "The download was stopped."
    fetcher.begin(offer)
    assert (came := _end(fetcher).model) and came.name == "hf:own/tiny" and came.listing.family == "llama"
    assert user_models.SHELF.find("hf:own/tiny", "anybody") is came


def _end(fetcher: Fetcher):
    while not fetcher.now.over:
        time.sleep(0.01)
    return fetcher.now
