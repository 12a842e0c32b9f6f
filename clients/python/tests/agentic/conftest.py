"""These tests run in an environment of their own, which `npm run test:agentic` makes; elsewhere they are left out."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("trl") and find_spec("verl") else ["test_*.py"]
