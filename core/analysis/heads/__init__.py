"""Measures of heads: the habit that names a head, and the heads that are alike.

One head: `habits` measures the pattern of a head over a set of sentences and names it; `patch_habits` does so for pictures;
`occasions` says which texts can show a habit, `evidence` which sentences made a score; `relative_bias` reads what a head adds by distance.
All heads of a model: `head_survey` measures them, `head_file` keeps the result as heads.json.
Two heads: `compare` has the Jensen-Shannon divergence of two rows, `likeness` compares two patterns over one text.
Many heads: `similar` compares the heads of several models over several texts, `head_embedding` puts them into a plane,
`sketch` finds those that resemble a drawing.
"""
