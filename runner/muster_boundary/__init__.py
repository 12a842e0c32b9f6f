"""Tests on one side, what they test on the other: they share no memory, and what passes between them is plain data.

The tests run in a sandbox of their own and see the candidate's modules through a proxy (trusted.py, remote.py, importing.py). The candidate
runs in another sandbox (candidate.py, handles.py). Muster carries messages between the two (line.py, plain.py); nothing is pickled. The
standard library is all that is needed.
"""
