"""Parts that several pages of the workspace share."""
