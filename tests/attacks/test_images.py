"""Hostile and odd pictures: each a doodle or a refusal in words, within a second and in little memory."""

from __future__ import annotations

import io
import re
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from core.data import doodles
from core.errors import InputError


def drawing(
    mode: str = "RGB", size: tuple[int, int] = (400, 300), ink: Any = "black", paper: Any = "white"
) -> Image.Image:
    image = Image.new("RGB", size, paper)
    pen = ImageDraw.Draw(image)
    w, h = size
    pen.ellipse((w * 0.2, h * 0.2, w * 0.8, h * 0.8), outline=ink, width=max(1, w // 60))
    pen.line((w * 0.5, h * 0.2, w * 0.6, h * 0.05), fill=ink, width=max(1, w // 60))
    return image.convert(mode)


def file(image: Image.Image, kind: str = "PNG", **more: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **more)
    return out.getvalue()


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width: int, height: int, *chunks: bytes, bits: int = 8, colour: int = 0) -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(chunks) + chunk(b"IEND", b"")


@cache
def bomb(side: int) -> bytes:
    """A file of some KB that is a picture of side by side pixels."""
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(bytes(side + 1)) for _ in range(side)) + packer.flush()
    return png(side, side, chunk(b"IDAT", data))


def scans(n: int) -> bytes:
    """A progressive JPEG that repeats its last scan n times."""
    data = file(drawing(size=(64, 64)), "JPEG", progressive=True)
    last = data.rindex(b"\xff\xda")
    return data[:last] + data[last:-2] * n + b"\xff\xd9"


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "nothing": (lambda: b"", "not a PNG or JPEG"),
    "text": (lambda: b"<svg onload=alert(1)>" * 50, "not a PNG or JPEG"),
    "a page called picture.png": (lambda: b"<!doctype html><script>alert(1)</script>", "not a PNG or JPEG"),
    "GIF": (lambda: file(drawing("P"), "GIF"), "not a PNG or JPEG"),
    "animated WebP": (
        lambda: file(drawing(), "WEBP", save_all=True, append_images=[drawing()]),
        "not a PNG or JPEG",
    ),
    "TIFF": (lambda: file(drawing(), "TIFF"), "not a PNG or JPEG"),
    "PostScript, which a program would run": (
        lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage",
        "not a PNG or JPEG",
    ),
    "header alone": (lambda: file(drawing())[:33], "broken or cut off|not a PNG"),
    "cut off PNG": (lambda: file(drawing())[:-900], "broken or cut off"),
    "cut off JPEG": (lambda: file(drawing(), "JPEG")[:2000], "broken or cut off"),
    "no pixels": (lambda: png(0, 0), "broken or cut off|not a PNG"),
    "a bomb of 900 million pixels": (
        lambda: png(30000, 30000, chunk(b"IDAT", zlib.compress(bytes(9999)))),
        "too many pixels",
    ),
    "a bomb below the library's own limit": (lambda: bomb(8000), "8,000 by 8,000 pixels"),
    "4 billion wide": (lambda: png(2**31 - 1, 2**31 - 1), "too many pixels|broken"),
    "a bomb of notes": (
        lambda: png(9, 9, chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(10**8), 9))),
        "broken or cut off",
    ),
    "too large a file": (lambda: file(drawing()) + bytes(9 * 10**6), r"9\.0 MB"),
    "a thread": (lambda: file(Image.new("L", (9000, 2))), "20 times"),
    "one pixel": (lambda: file(Image.new("L", (1, 1), 255)), "all of one colour"),
    "all white": (lambda: file(Image.new("RGB", (500, 500), "white")), "all of one colour"),
    "nothing but transparent": (lambda: file(Image.new("RGBA", (50, 50), (0, 0, 0, 0))), "all of one colour"),
    "ten thousand scans": (lambda: scans(10000), "scans"),
}
TAKEN: dict[str, Callable[[], bytes]] = {
    "white on black": lambda: file(drawing(ink="white", paper="black")),
    "grey with alpha": lambda: file(drawing("LA")),
    "colours from a table": lambda: file(drawing("P")),
    "transparent paper": lambda: file(transparent()),
    "two colours": lambda: file(drawing("1")),
    "CMYK JPEG": lambda: file(drawing("CMYK"), "JPEG"),
    "progressive JPEG": lambda: file(drawing(size=(1600, 1200)), "JPEG", progressive=True),
    "16 bits": lambda: file(Image.fromarray(np.asarray(drawing("L")).astype(np.uint16) * 257)),
    "animated PNG": lambda: file(drawing(), save_all=True, append_images=[Image.new("RGB", (400, 300))] * 20),
    "on its side": lambda: file(drawing(size=(300, 400)).rotate(90, expand=True), "JPEG", exif=exif(6)),
    "thin lines on a large sheet": lambda: file(drawing(size=(4000, 3000)), "JPEG"),
}


def transparent() -> Image.Image:
    image = drawing("RGBA")
    image.putalpha(Image.eval(drawing("L"), lambda grey: 255 - grey))
    return image


def exif(orientation: int) -> Image.Exif:
    found = Image.Exif()
    found[0x0112] = orientation
    return found


def measured(data: bytes) -> tuple[Any, float]:
    """What comes of it and the seconds of processor that it took."""
    start = time.process_time()
    try:
        return doodles.from_image(data), time.process_time() - start
    except InputError as refused:
        return refused, time.process_time() - start


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_picture_is_refused_in_words_at_once(name: str):
    make, told = REFUSED[name]
    data = make()
    found, seconds = measured(data)
    assert isinstance(found, InputError)
    assert re.search(told, str(found)), str(found)
    assert all((found.wrong, found.rule, found.remedy)) and seconds < 1


@pytest.mark.parametrize("name", TAKEN)
def test_an_odd_picture_is_the_same_doodle(name: str):
    found, seconds = measured(TAKEN[name]())
    assert isinstance(found, np.ndarray) and seconds < 1, str(found)
    rows, columns = (found > 100).nonzero()
    assert max(np.ptp(rows), np.ptp(columns)) >= 22 and found.max() == 255 and found[0].max() < 100
    assert 20 < found.mean() < 70, "lines are as wide as a pen's"
    assert found[14, 14] == 0, "the ring is empty"


def test_damaged_files_are_doodles_or_refused_and_nothing_else():
    chance = np.random.default_rng(7)
    for whole in (file(drawing("L")), file(drawing(), "JPEG"), file(drawing("P")), scans(3)):
        for _ in range(25):
            damaged = np.frombuffer(whole, dtype=np.uint8).copy()
            damaged[chance.integers(2, len(damaged), 6)] = chance.integers(0, 256, 6)
            found, seconds = measured(damaged.tobytes())
            assert isinstance(found, InputError) or found.shape == (28, 28)
            assert seconds < 1


LARGEST = """
import re, sys, time
from pathlib import Path
from core.data import doodles
from core.errors import InputError
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
before = peak()
for path in sys.argv[1:]:
    data, start = Path(path).read_bytes(), time.process_time()
    try:
        doodles.from_image(data)
    except InputError:
        pass
    print(Path(path).name, time.process_time() - start, peak() - before)
"""


@pytest.mark.slow
def test_the_largest_pictures_take_little_time_and_memory(tmp_path: Path):
    """In a process of its own, since what a library holds is counted there only as a whole."""
    packer, line = zlib.compressobj(1), b"\0" + bytes([0, 0, 0, 255]) * 1000 + b"\xff" * 4 * 3096
    rows = b"".join(packer.compress(line) for _ in range(4096)) + packer.flush()
    (tmp_path / "rgba.png").write_bytes(png(4096, 4096, chunk(b"IDAT", rows), colour=6))
    (tmp_path / "progressive.jpg").write_bytes(file(Image.new("L", (4096, 4096)), "JPEG", progressive=True))
    (tmp_path / "bomb.png").write_bytes(bomb(8000))
    names = ["bomb.png", "rgba.png", "progressive.jpg"]
    done = subprocess.run(
        [sys.executable, "-c", LARGEST, *(str(tmp_path / name) for name in names)],
        capture_output=True,
        text=True,
        check=True,
    )
    print(done.stdout)
    for line in done.stdout.splitlines():
        name, seconds, megabytes = line.split()
        most = (0.1, 5) if name == "bomb.png" else (2.0, 160)
        assert float(seconds) < most[0] and float(megabytes) < most[1], line


def test_a_doodle_that_was_saved_as_a_picture_comes_back_as_it_was():
    cat = doodles.example("cat")
    assert (doodles.from_image(file(Image.fromarray(cat))) == cat).all()
    assert (doodles.from_image(file(Image.fromarray(255 - cat))) == cat).all()
    assert (doodles.from_image(file(Image.fromarray(cat).convert("RGB"))) == cat).all()
