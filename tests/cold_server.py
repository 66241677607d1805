"""`streamlit run app.py` without the warm-up: nothing is opened or drawn before somebody asks for it.

python -m tests.cold_server [options of streamlit run]

The warm-up draws all pages once, 15 seconds of the processor; a lane of browser tests opens a few of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from streamlit.web import cli

from viz.platform import start


def main() -> None:
    warm_up = start.warm_up_in_background

    def of_nothing(slugs: Iterable[str], on_done: Callable[[], None]) -> None:
        warm_up((), on_done)

    assert start._parts, "what the warm-up opens has another name"
    start._parts = lambda: iter(())
    start.warm_up_in_background = of_nothing
    sys.argv = ["streamlit", "run", "app.py", *sys.argv[1:]]
    cli.main()


if __name__ == "__main__":
    main()
