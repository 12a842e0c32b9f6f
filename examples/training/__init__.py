"""Proximal policy optimisation in NumPy: what made the checkpoints of the examples."""
