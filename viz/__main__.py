"""Start the app from any folder: `attention-atlas`, or `python -m viz`; options are those of `streamlit run`.

Its settings are those of the house: Streamlit reads them beside the script that it runs.
"""

from __future__ import annotations

import sys

from streamlit.web import cli

from core.data.home import home


def main() -> None:
    """`streamlit run` the server."""
    sys.argv = ["streamlit", "run", str(home() / "app.py"), *sys.argv[1:]]
    sys.exit(cli.main())


if __name__ == "__main__":
    main()
