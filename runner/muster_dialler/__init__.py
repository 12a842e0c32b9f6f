"""What a pod's containers run where the runner dials back: it connects to Muster, and runs there what Muster says (docs/dial-back.md)."""
