"""Stable-Baselines3: its models as portable files.

    import muster.sb3

    muster.sb3.export("model.zip", environment="CartPole-v1", vec_normalize="vecnormalize.pkl")
"""

from muster.exporting.errors import ExportError, MissingNormalisation, ParityError
from muster.sb3.exported_model import export
from muster.sb3.zip_file import load

__all__ = ["ExportError", "MissingNormalisation", "ParityError", "export", "load"]
