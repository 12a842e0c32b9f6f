"""Whether tests that have a short form run in full."""

import os

# Taken out of the environment, because a server refuses variables of Muster's that it does not know.
IS_FULL_FORM = os.environ.pop("MUSTER_TEST_ALL", "") == "1"
