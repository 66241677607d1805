"""What pages are made of: controls bound to the link, the parts of a page, questions, equations, errata, computing."""
