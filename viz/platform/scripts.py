"""Scripts and sheets of the page's own components, as files that a browser fetches once: Streamlit sends a component's script and sheet again with every run."""

from __future__ import annotations

import gzip
import json
from hashlib import blake2b
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

FOLDER = "script"
_files: dict[str, bytes] = {}
"""The text of each file, compressed, by its name, which has the hash of what it holds."""
LOADER = """let begun;
const home = document.querySelector('script[type="module"][src]').src;
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const load = (turn) => import(new URL(`../../%%NAME%%${turn ? `?${turn}` : ""}`, home))
  .catch((error) => (turn < 5 ? wait(1000).then(() => load(turn + 1)) : Promise.reject(error)));
export default async (component) => (await (begun ??= load(0))).default(component);
"""
"""Code sent with every run. Streamlit's own script is two folders below the app's address, after any prefix. A server that restarts is asked again."""
DRESS = """{
  const style = document.createElement("style");
  style.textContent = %%CSS%%;
  document.body.prepend(style);
}
"""


def register(name: str, *files: Path) -> str:
    """Serve these scripts, joined, as one file, which puts the sheets among them into the page for good; return the script of a component `name` that fetches it."""
    sheet = "".join(file.read_text("utf-8") for file in files if file.suffix == ".css")
    text = "\n".join(file.read_text("utf-8") for file in files if file.suffix == ".js")
    body = (DRESS.replace("%%CSS%%", json.dumps(sheet)) * bool(sheet) + text).encode()
    file = f"{name}.{blake2b(body, digest_size=6).hexdigest()}.js"
    _files[file] = gzip.compress(body, mtime=0)
    return LOADER.replace("%%NAME%%", f"{FOLDER}/{file}")


def names() -> tuple[str, ...]:
    """Return the addresses of all files, below the app's own."""
    return tuple(f"{FOLDER}/{name}" for name in _files)


async def answer(request: Request) -> Response:
    """Answer with one of the files; its name changes with what it holds, so a browser need not ask again."""
    packed = _files.get(request.path_params["name"])
    if packed is None:
        return Response(status_code=404)
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, media_type="text/javascript", headers=headers | {"Content-Encoding": "gzip"})
    return Response(gzip.decompress(packed), media_type="text/javascript", headers=headers)
