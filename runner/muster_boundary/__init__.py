"""Separates tests from the code that they test: the two share no memory, and only plain data passes between them.

The tests run in a sandbox of their own and see the candidate's modules through a proxy (trusted.py, remote.py, importing.py). The candidate
runs in another sandbox (candidate.py, handles.py). Muster carries messages between the two (line.py, plain.py); nothing is pickled. The
standard library is all that is needed.
"""
