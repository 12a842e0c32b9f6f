"""Plays episodes together: in lockstep, or in an environment's own vector form (docs/runner-protocol.md)."""
