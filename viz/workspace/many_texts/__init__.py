"""The page Many texts: a data set through one model, or two, sorted by loss, by one head or by disagreement."""
