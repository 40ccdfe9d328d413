"""What the user takes away."""

from autogm.predictor.predictor import Predictor
from autogm.predictor.timing import seconds

__all__ = ["Predictor", "seconds"]
