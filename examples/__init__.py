"""Three worked uses of Muster. README.md describes what each shows.

NumPy gets one thread, which is set before its first import. A matrix product is then summed in one order, so a training run's seed decides
every bit of its checkpoints.
"""

import os

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
