"""A tiny model that learns to write programs, on groups of trajectories that Muster has it play."""
