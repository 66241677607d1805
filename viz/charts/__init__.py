"""Figures: numpy and labels in, a Plotly or Altair figure out. Of ours they import viz.theme and viz.labels only. Here lie those that several pages use; a page's own lie beside it."""
