"""What exhibits of several chapters have in common."""
