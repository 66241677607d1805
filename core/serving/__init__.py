"""The parts of the engine: the gate (who computes next), the cache (what is kept), the registry (which models)."""
