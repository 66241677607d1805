"""Lessons: views of the atlas in an order, each with a note for the lecturer and, where one is wanted, a question.

`plan.py` defines a lesson, `views.py` its links, `workshop.py` a lesson in a link, `toml_format.py` its TOML file. `session.py` keeps the lesson that this session collects and the one that it presents, `player.py` draws the lesson around every page, `form.py` has the dialogue of a stop.
"""
