"""Commands: `python -m core.tools.train`, `evaluate`, `survey`, `card` and `export`."""
