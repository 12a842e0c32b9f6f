"""Loads policies: one module for each form that a checkpoint may have (docs/checkpoints.md)."""
