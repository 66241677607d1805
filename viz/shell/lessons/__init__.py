"""Lessons: views of the atlas in an order, each with a note for the lecturer and, where one is wanted, a question.

`plan.py` says what a lesson is, `views.py` which links may stand in it, `written.py` how it is read from a TOML file and written to
one. `held.py` keeps what this session collects and walks, `walking.py` and `bar.py` stand around every page, `form.py` asks for a stop.
"""
