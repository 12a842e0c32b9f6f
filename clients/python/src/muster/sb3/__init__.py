"""Stable-Baselines3: its models as portable files, and a callback that evaluates beside training.

from muster.sb3 import MusterCallback

model.learn(1_000_000, callback=MusterCallback("cartpole.yaml", every=50_000, log="tensorboard"))
"""

from muster.exporting.errors import ExportError, MissingNormalisation, ParityError
from muster.sb3.callback import MusterCallback
from muster.sb3.exported_model import export
from muster.sb3.zip_file import load

__all__ = ["ExportError", "MissingNormalisation", "MusterCallback", "ParityError", "export", "load"]
