"""`python -m muster`."""

from muster.command import main

main()
