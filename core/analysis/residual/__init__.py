"""The residual stream: what it would say at each layer, how a change spreads in it, vectors as points."""
