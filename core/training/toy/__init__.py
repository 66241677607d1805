"""Small tasks that a tiny model learns while one waits."""
