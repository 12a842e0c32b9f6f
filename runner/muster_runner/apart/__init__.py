"""Plays a policy in a program of its own, apart from the environment (docs/sandboxes.md, docs/runner-protocol.md).

The environment's program speaks with Muster. It sends requests to the policy's program over one socket pair, and gets answers. Only spaces,
seeds for the policy, observations and actions are sent, as numbers of known length. No object is sent that could run code when it is read.
"""
