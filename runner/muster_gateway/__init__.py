"""Runs an agent's program, and carries its connections to the model out of a sandbox that has no network."""
