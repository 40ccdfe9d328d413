"""What the user takes away."""

from autogm.predictor.predictor import Predictor
from autogm.predictor.timing import cost_model, seconds

__all__ = ["Predictor", "cost_model", "seconds"]
