"""The command `python -m viz.pages`: every address of the app, one a line."""

from viz.shell.pages import main

if __name__ == "__main__":
    main()
