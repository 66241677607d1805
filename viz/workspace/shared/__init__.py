"""What several pages of the workspace have in common."""
