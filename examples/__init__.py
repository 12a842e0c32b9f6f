"""Three worked uses of Muster; `README.md` beside this file tells what each shows.

One math thread, set before NumPy is first imported: a matrix product is then summed in one order, so a training
run's seed decides every bit of its checkpoints.
"""

import os

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
