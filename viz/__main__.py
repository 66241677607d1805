"""Start the app from any folder: `attention-atlas`, or `python -m viz`; options are those of `streamlit run`.

Its settings are those of the house: Streamlit reads them beside the script that it runs.
"""

from __future__ import annotations

import runpy
import sys

from core.data.home import home


def main() -> None:
    """Run `streamlit run` on the server."""
    sys.argv = ["streamlit", "run", str(home() / "app.py"), *sys.argv[1:]]
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
