"""A lesson without a server: its stops recorded as a lecture room gets them, in one folder or one file that any browser opens.

`record.py` draws each stop for nobody and keeps its pictures and questions, before and after the guess; `site.py` writes the pages, `paper.py` those to print;
`page/` has what runs in the browser, with the drawing of the lecture room's pages (`viz/classroom/page`). `python -m viz.export` is the command.
"""
