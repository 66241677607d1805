"""Lessons: views of the atlas in an order, each with a note for the lecturer and, where one is wanted, a question.

`plan.py` defines a lesson, `views.py` its links, `written.py` its TOML file. `session.py` keeps what this session collects and walks, `walking.py` and `bar.py` stand around every page, `form.py` asks for a stop.
"""
