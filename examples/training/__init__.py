"""Proximal policy optimisation in NumPy, which trained the checkpoints of the examples."""
