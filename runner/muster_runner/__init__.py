"""The program inside a sandbox: loads a policy once and plays many episodes (docs/runner-protocol.md)."""
