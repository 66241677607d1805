"""The residual stream: the output after each layer, the spread of a change, vectors as points."""
