"""The building blocks of pages: controls bound to the link, the parts of a page, questions, equations, errata, computing."""
