"""A policy that is played in a program of its own, apart from the environment (docs/sandboxes.md, docs/runner-protocol.md).

The environment's program owns the conversation with Muster. It asks, and the policy's program answers, over one socket pair. Nothing but
spaces, seeds for the policy, observations and actions travels there, as numbers of known length: no object that could do anything when it
is read.
"""
