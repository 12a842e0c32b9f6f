"""Ends the process with a status of success as soon as it is imported."""

import os

os._exit(0)
