"""Letters over frames: listen, attend and spell."""
