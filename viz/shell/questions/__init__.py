"""A lecturer's own question: written, edited and stored in one way, in a lecture room and in a lesson.

`question.py` defines it, `form.py` has its controls; a lesson file stores it (viz.shell.lessons.toml_format).
"""
