"""Print, for a shell, the settings of uv that say what pip's settings say: `pip config list | python settings_of_pip.py`."""

import ast
import shlex
import sys

NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "constraint": "UV_CONSTRAINT",
    "cert": "SSL_CERT_FILE",
}

settings = {}
for line in sys.stdin:
    name, _, value = line.strip().partition("=")
    known = NAMES.get(name.rpartition(".")[2])
    if known and (known not in settings or name.startswith(":env:")):
        values = ast.literal_eval(value).split()
        settings[known] = ("," if known == "UV_FIND_LINKS" else " ").join(values)
for name, value in settings.items():
    print(f"export {name}={shlex.quote(value)}")
