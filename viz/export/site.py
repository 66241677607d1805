"""A recorded lesson as pages: a folder that a stick, a static host or a learning platform serves, and one file where it stays small.

Scripts are in the page itself, since no page from a file may import a module; the parts of the stops are scripts that call `lessonPart`.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import io
import json
import re
import shutil
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from core.errors import InputError
from viz import theme
from viz.export.record import Recording
from viz.instruments.kit.component import variables
from viz.instruments.kit.modules import follow, join_modules
from viz.languages import LANGUAGES, _, mark, script_words, using

MOST_IN_ONE = 10_000_000
"""Bytes of a lesson in one file at most."""
VIZ = Path(__file__).resolve().parents[1]
PAGE, CLASSROOM, STATIC = VIZ / "export" / "page", VIZ / "classroom" / "page", VIZ / "static"
GENERATOR = '<meta name="generator" content="Attention Atlas">'
FONTS = (
    ("Inter", "inter", "100 900"),
    ("ReaderSerif", "serif", "200 900"),
    ("JetBrains Mono", "mono", "100 800"),
)
LICENCES = (
    ("Inter", STATIC / "LICENSE-Inter.txt"),
    ("Source Serif 4", STATIC / "LICENSE-SourceSerif4.txt"),
    ("JetBrains Mono", STATIC / "LICENSE-JetBrainsMono.txt"),
    ("Vega, Vega-Lite and Vega-Embed", VIZ / "export" / "LICENSE-Vega.txt"),
)
LICENCE = mark(
    "This lesson was published with Attention Atlas, licence Apache-2.0 (https://www.apache.org/licenses/LICENSE-2.0). It holds works of others under these licences."
)
_FACE = re.compile(r"^@font-face .*\n", re.MULTILINE)
_IMPORTED = re.compile(r"""(?:from|import)\s*\(?["'`]\./([\w.-]+\.js)["'`]""")
_PRELOADER = re.compile(r'^.*?import\{(\w+) as \w+\}from"\./(preload-helper[\w.-]*\.js)"', re.DOTALL)


def folder_files(recording: Recording) -> dict[str, bytes]:
    """Return the files of the folder by their paths in it."""
    parts = _parts(recording)
    empty = _page(recording, {}, {"worker": "worker.js", "version": ""})
    version_name = hashlib.blake2b(repr(parts).encode() + empty, digest_size=8).hexdigest()
    files = {
        f"parts/{name}.js": f"lessonPart({json.dumps(name)}, {json.dumps(text)});\n".encode()
        for name, text in parts.items()
    }
    files["index.html"] = _page(recording, {}, {"worker": "worker.js", "version": version_name})
    worker = (PAGE / "worker.js").read_text("utf-8").replace("%%VERSION%%", version_name)
    files["worker.js"] = worker.replace("%%FILES%%", json.dumps(sorted(files))).encode()
    files["LICENSES.txt"] = licences(recording).encode()
    return dict(sorted(files.items()))


def single_file(recording: Recording) -> bytes | None:
    """Return the lesson as one page; None where that has more than `MOST_IN_ONE` bytes."""
    page = _page(recording, _parts(recording), {})
    return page if len(page) <= MOST_IN_ONE else None


def archive(recording: Recording, name: str, more: Mapping[str, bytes] | None = None) -> bytes:
    """Return the folder `name` as a ZIP file, with `more` files by their paths; the same lesson gives the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for path, data in (folder_files(recording) | dict(more or {})).items():
            packed.writestr(zipfile.ZipInfo(f"{name}/{path}"), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def write(recording: Recording, out: Path) -> tuple[int, int]:
    """Write the folder `out` and, where the lesson fits into one file, that file beside it; return the bytes of both, 0 for no file.

    Raises:
        InputError: `out` is there and holds something else than a published lesson.
    """
    require_free(out)
    shutil.rmtree(out / "parts", ignore_errors=True)
    files = folder_files(recording)
    for path, data in files.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_bytes(data)
    page, single = single_file(recording), out.with_name(f"{out.name}.html")
    if page is not None:
        single.write_bytes(page)
    elif _is_ours(single):
        single.unlink()
    return sum(map(len, files.values())), len(page or b"")


def require_free(out: Path) -> None:
    """Raise InputError where `out`, or the file beside it, holds something else than a published lesson."""
    single = out.with_name(f"{out.name}.html")
    taken = [
        path
        for path, ours in ((out, out / "index.html"), (single, single))
        if path.exists() and not _is_ours(ours) and not (path.is_dir() and not any(path.iterdir()))
    ]
    if taken:
        raise InputError(
            "'{path}' is there and is not a published lesson.",
            "A lesson is written into a folder of its own, and into a file of the same name beside it.",
            "Name another folder, or delete what is there.",
            path=taken[0],
        )


def _is_ours(page: Path) -> bool:
    return page.is_file() and GENERATOR in page.read_text("utf-8", errors="replace")[:2000]


def _parts(recording: Recording) -> dict[str, str]:
    """Return the parts that the page reads one by one, deflated and in base64: the stops, and Vega where a chart needs it."""
    parts = {f"stop-{number}": stop for number, stop in enumerate(recording.stops, 1)}
    if recording.has_charts:
        return {name: packed(part) for name, part in parts.items()} | {"vega": vega()}
    return {name: packed(part) for name, part in parts.items()}


def packed(part: Any) -> str:
    """Return a part as the page reads it: JSON, deflated, in base64."""
    text = json.dumps(part, ensure_ascii=False).encode("utf-8", "replace")
    return base64.b64encode(zlib.compress(text, 9)).decode()


@functools.cache
def vega() -> str:
    """Return the part that draws charts."""
    return packed(vega_modules())


def vega_modules() -> list[tuple[str, str]]:
    """Return the modules by which Streamlit loads Vega, each after those that it imports; without its hints for a server."""
    home = Path(st.__file__).parent / "static" / "static" / "js"
    (entry,) = home.glob("loadVegaEmbed.*.js")
    loader = _PRELOADER.match(entry.read_text("utf-8"))
    if loader is None:
        raise RuntimeError(f"{entry.name} loads Vega in another way than viz.export reads")
    found = {loader[2]: f"export const {loader[1]} = (load) => load();"}

    def visit(name: str) -> None:
        if name not in found:
            text = (home / name).read_text("utf-8")
            for needed in _IMPORTED.findall(text):
                visit(needed)
            found[name] = text

    visit(entry.name)
    return list(found.items())


def _page(recording: Recording, inside: dict[str, str], more: dict[str, str]) -> bytes:
    """Return the page, with the parts that are `inside` it."""
    told = recording.lesson | more | {"licences": licences(recording)}
    filled = {
        "STYLE": style(CLASSROOM / "follow.css", CLASSROOM / "asking.css", PAGE / "lesson.css"),
        "TWINS": html.escape(json.dumps(theme.dark_twins())),
        "LESSON": json.dumps(told).replace("<", "\\u003c"),
    }
    return fill(PAGE / "lesson.html", filled, recording, PAGE / "lesson.js", inside)


def fill(
    template: Path,
    filled: dict[str, str],
    recording: Recording,
    script: Path,
    inside: dict[str, str],
    rules: str = "worker-src 'self'; ",
    speaking: Sequence[Path] = (),
) -> bytes:
    """Return a page of a lesson in its language: the `template` with the words that are `filled` in, the parts `inside` it, and its scripts, which the policy names.

    rules: further ones of the policy, of a page with files beside it. speaking: scripts in `filled` whose words the page says.
    """
    scripts = _scripts(recording, script)
    language = LANGUAGES[recording.language]
    with using(language.code):
        text = script_words.translated(template.read_text("utf-8"))
        said = script_words.ScriptWords("", *(module.path for module in follow(script, *speaking)))
        told = said.page_language()
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for _, text in scripts
    )
    beside = "" if inside else " 'self' file:"
    policy = (
        f"default-src 'none'; script-src {hashes} blob:{beside}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
        f"{'' if inside else rules}base-uri 'none'; form-action 'none'"
    )
    icon = base64.b64encode((STATIC / "favicon.svg").read_bytes()).decode()
    common = {
        "LANG": language.code,
        "DIR": language.direction,
        "LANGUAGE": html.escape(json.dumps(told)),
        "POLICY": policy,
        "TITLE": html.escape(recording.lesson["title"]),
        "ICON": f"data:image/svg+xml;base64,{icon}",
        "DATA": "\n".join(
            f'<script type="text/plain" id="data-{name}">{text}</script>' for name, text in inside.items()
        ),
        "CODE": "\n".join(f"<script{attribute}>{text}</script>" for attribute, text in scripts),
    }
    known = common | filled
    return re.sub(r"%%(\w+)%%", lambda name: known[name[1]], text).encode()


def _scripts(recording: Recording, script: Path) -> list[tuple[str, str]]:
    """Return the scripts of the page, each with its attributes: the kit, the instruments of the lesson, and `script` with what it imports."""
    scripts = []
    if recording.instruments:
        identity, kit = recording.kit
        scripts.append((f' data-code="{identity}"', f'"use strict";\n{kit}\n//end'))
    for identity, source in recording.instruments.items():
        body = (
            source[: source.index("export default begin;")]
            + f'globalThis.lessonModules["{identity}"] = begin;'
        )
        scripts.append(
            (
                f' data-code="{identity}"',
                f'(() => {{ "use strict"; globalThis.lessonModules ??= {{}};\n{body}\n//end\n}})();',
            )
        )
    player = join_modules(follow(script), VIZ)
    return [*scripts, ("", f'(() => {{ "use strict";\n{player}}})();')]


def style(*sheets: Path, dark: bool = True) -> str:
    """Return the fonts, the colours and these sheets as one."""
    faces = "".join(
        f'@font-face {{ font-family: "{name}"; font-weight: {weights}; src: url(data:font/woff2;base64,'
        f"{base64.b64encode((STATIC / f'{file}.woff2').read_bytes()).decode()}); }}\n"
        for name, file, weights in FONTS
    )
    return "\n".join((faces, variables(dark), *(_FACE.sub("", sheet.read_text("utf-8")) for sheet in sheets)))


def licences(recording: Recording) -> str:
    """Return the licences of the works of others that the pages hold."""
    used = [(name, file) for name, file in LICENCES if recording.has_charts or file.parent == STATIC]
    with using(recording.language):
        published = _(LICENCE)
    return (
        "\n\n".join((published, *(f"{name}\n\n{file.read_text('utf-8').strip()}" for name, file in used)))
        + "\n"
    )
