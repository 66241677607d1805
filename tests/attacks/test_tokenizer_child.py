"""Whatever a tokenizer does while it is read, it does in a child that ends in time, in its memory, and knows nothing of the house."""

from __future__ import annotations

import shutil
import sys

import pytest
from crafted.case import MB
from crafting import good_folder

from core.checkpoints.tokenizer import try_in_child
from core.errors import InputError

FOUND = "def try_kind(out: Out, name: str, files: list[str]) -> dict:\n"
LOADED = "    backend = tokenizers.Tokenizer.from_str(text)\n"


def hostile(tmp_path, monkeypatch, code, behind=FOUND):
    """The same limits around a child that does its worst after they are set."""
    import core.checkpoints.tokenizer as face

    source = shutil.copytree(face.CHILD.parent, tmp_path / "safety") / face.CHILD.name
    assert behind in face.CHILD.read_text()
    source.write_text(face.CHILD.read_text().replace(behind, f"{behind}    {code}\n"))
    monkeypatch.setattr(face, "CHILD", source)
    return good_folder(tmp_path / "model") / "tokenizer.json"


@pytest.mark.slow
def test_time_is_limited(tmp_path, monkeypatch):
    path = hostile(tmp_path, monkeypatch, "while True: pass")
    with pytest.raises(InputError, match="1 seconds"):
        try_in_child([path], "tokenizer.json", cpu=1)


def test_sleeping_is_limited_too(tmp_path, monkeypatch):
    path = hostile(tmp_path, monkeypatch, "import time; time.sleep(60)")
    with pytest.raises(InputError, match="does not end"):
        try_in_child([path], "tokenizer.json", wall=1.0)


def test_memory_is_limited(tmp_path, monkeypatch):
    path = hostile(tmp_path, monkeypatch, "held = bytearray(1024**3)")
    with pytest.raises(InputError, match="memory"):
        try_in_child([path], "tokenizer.json", memory=600 * MB)


def test_an_abort_is_survived(tmp_path, monkeypatch):
    path = hostile(tmp_path, monkeypatch, "import os; os.abort()")
    with pytest.raises(InputError, match="ends the process"):
        try_in_child([path], "tokenizer.json")


def test_nothing_can_be_written(tmp_path, monkeypatch):
    canary = tmp_path / "canary"
    path = hostile(
        tmp_path, monkeypatch, f"out = open({str(canary)!r}, 'w'); out.write('x' * 10); out.close()"
    )
    with pytest.raises(InputError, match="File too large"):
        try_in_child([path], "tokenizer.json")
    assert canary.stat().st_size == 0


def test_what_only_the_real_library_does_is_survived(tmp_path, monkeypatch):
    """Padding to 10^12 aborts a process that encodes with it; here it is put back behind the cleaning. This process has loaded the file by then."""
    path = hostile(tmp_path, monkeypatch, "backend.enable_padding(length=10**12)", LOADED)
    loaded = []
    with pytest.raises(InputError, match="ends the process"):
        try_in_child([path], "tokenizer.json", loaded.append)
    assert len(loaded) == 1


@pytest.mark.parametrize("code", ["import os; os._exit(0)", "out.say(text[:-1]); import os; os._exit(0)"])
def test_half_an_answer_is_none(tmp_path, monkeypatch, code):
    path = hostile(tmp_path, monkeypatch, code, LOADED)
    with pytest.raises(InputError, match="could not be tried"):
        try_in_child([path], "tokenizer.json")


def test_the_child_knows_nothing_of_the_house(tmp_path):
    """It stays small: torch is not in it."""
    import subprocess

    from core.checkpoints.tokenizer import CHILD

    code = f"import runpy, sys; runpy.run_path({str(CHILD)!r}, run_name='child'); print('torch' in sys.modules, 'core' in sys.modules)"
    out = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "False"]
