"""These tests run in an environment of their own, which `npm run test:training` makes; elsewhere they are left out."""

from importlib.util import find_spec

# For all tests of this folder: it takes a variable away.
import tests.full_form  # noqa: F401

collect_ignore_glob = [] if find_spec("stable_baselines3") else ["test_*.py"]
