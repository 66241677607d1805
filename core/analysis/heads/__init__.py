"""Measures of heads: the habit that names a head, and the heads that resemble each other.

The habits of heads:
- `habits`: the measures of a pattern over words, and the name of a head that follows from their means (`HeadHabits`).
- `patch_habits`: the same measures over the patches of a picture.
- `head_survey`: both for all heads of a model, over our own sentences; `head_file` writes and reads the result (heads.json).
- `corpus`: every head over many passages: strongest rows, a passage of each tenth, top tokens, spread, controls; `corpus_file` writes and reads the result (assets/heads).
- `evidence`: the sentences behind the score of one head, row by row.
- `occasions`: the texts in which a habit can show.
- `relative_bias`: the number that a head adds to its scores by distance.

The distances between heads:
- `pattern_distance`: two patterns over one text: the Jensen-Shannon divergence of their rows, correlation, cosine.
- `head_similarity`: many heads, also of several models, over several texts: their rows by common words, and all divergences.
- `head_embedding`: these divergences as points in the plane and as a tree.
- `sketch`: a pattern that a visitor draws, and the heads that resemble it.
"""
