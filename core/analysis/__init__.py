"""Analysis of runs: attention patterns, attribution, the residual stream, and the arithmetic of one weight."""
