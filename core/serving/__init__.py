"""The parts of the engine: the scheduler (who computes next), the cache (what is kept), the registry (which models)."""
