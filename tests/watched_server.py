"""`streamlit run app.py` that also says, a line each, which collections of the oldest generation it made, and whether inside somebody's run.

python tests/watched_server.py FILE [options of streamlit run]
"""

from __future__ import annotations

import gc
import sys
import threading
import time

from streamlit import runtime
from streamlit.web import cli


def under_way() -> int:
    """How many runs of the script are under way."""
    if not runtime.exists():
        return 0
    return sum(
        info.session._scriptrunner is not None
        for info in runtime.get_instance()._session_mgr.list_active_sessions()
    )


def main() -> None:
    begun = [0.0]

    def collected(phase: str, info: dict[str, int]) -> None:
        if info["generation"] == 2 and phase == "start":
            begun[0] = time.perf_counter()
        elif info["generation"] == 2:
            seconds = time.perf_counter() - begun[0]
            print(
                f"{threading.current_thread().name} {under_way()} {1000 * seconds:.1f}", file=out, flush=True
            )

    with open(sys.argv[1], "w", encoding="utf-8") as out:
        gc.callbacks.append(collected)
        sys.argv = ["streamlit", "run", "app.py", "--server.headless", "true", *sys.argv[2:]]
        cli.main()


if __name__ == "__main__":
    main()
