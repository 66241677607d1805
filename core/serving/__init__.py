"""The parts of the engine: the scheduler of computations, the cache of results, the registry of models."""
