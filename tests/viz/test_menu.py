"""The pages and the icon that Streamlit is given are everybody's, and the same as those it would make for each."""

from __future__ import annotations

import json

from streamlit.testing.v1 import AppTest

from viz.shell import pages


def test_a_page_is_everybodys_and_says_what_streamlits_own_says():
    def app():
        import streamlit as st

        from viz import menu

        shared = menu.shared_pages()
        own = {slug: st.Page(print, title="a", url_path=slug, default=slug == "look") for slug in shared}
        st.text(all(shared[slug]._script_hash == own[slug]._script_hash for slug in own))
        st.text(all(shared[slug].url_path == own[slug].url_path for slug in own))
        st.text(menu.shared_pages() is shared)
        st.navigation([page := menu.SharedPage(lambda: st.title("drawn"), title="a")], position="hidden")
        page.run()
        page.run()  # for another visitor, whose run has begun before

    test = AppTest.from_function(app, default_timeout=60).run()
    assert not test.exception and [text.value for text in test.text[:3]] == ["True"] * 3
    assert len(test.title) == 2


def test_every_page_stands_once_in_the_menu_or_hidden_beside_it():
    def app():
        import streamlit as st

        from viz import menu

        listed = [(heading, page) for heading, found in menu.sections().items() for page in found]
        st.json([[heading, page._url_path, page.visibility] for heading, page in listed])
        st.text(menu.icon()[:30])

    test = AppTest.from_function(app, default_timeout=60).run()
    assert not test.exception
    found = json.loads(test.json[0].value)
    assert sorted(slug for _, slug, _ in found) == sorted(entry.slug for entry in pages.discover())
    assert {heading for heading, _, seen in found if seen == "hidden"} == {""}
    assert {heading for heading, _, seen in found if seen == "visible"} == {"", "Lab", "More"}
    assert test.text[0].value == "data:image/svg+xml;base64,PHN2"
