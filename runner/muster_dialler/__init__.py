"""The program of a pod's containers where the runner dials back: it connects to Muster, and runs Muster's commands there
(docs/dial-back.md).
"""
