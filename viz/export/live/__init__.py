"""Models that run in the visitor's browser: their weights in one file each, and a page in which the visitor's own sentence runs.

`pack.py` writes the file of a model, `site.py` the page. In the browser `weights.js` reads that file, `tokenize.js` has the tokenizers,
`arithmetic.js` the products, `networks.js` the three families, `engine.js` what the page asks of them (in a worker where the browser allows
one), and `live.js` the page with the app's own pictures.
"""
