"""Training: the loop, its schedules, its options and recipes, and the folder of a run."""

from deepnlp.checkpoint import load, save
from deepnlp.errors import DivergedError
from deepnlp.tasks import BPTTBatches
from deepnlp.training.config import TrainConfig, configure, recipe, recipe_names, recipe_text
from deepnlp.training.result import Result
from deepnlp.training.runfolder import RunFolder
from deepnlp.training.runs import Plan, build_trainer, plan, resumed_config, train
from deepnlp.training.schedules import (
    Constant,
    Cosine,
    Exponential,
    Linear,
    Plateau,
    Schedule,
    Step,
)
from deepnlp.training.trainer import Trainer
from deepnlp.training.watching import Hook

__all__ = [
    "BPTTBatches", "Constant", "Cosine", "DivergedError", "Exponential", "Hook", "Linear", "Plan",
    "Plateau", "Result", "RunFolder", "Schedule", "Step", "TrainConfig", "Trainer", "build_trainer",
    "configure", "load", "plan", "recipe", "recipe_names", "recipe_text", "resumed_config", "save",
    "train",
]  # fmt: skip
