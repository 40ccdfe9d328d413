"""One point of the framework, and the weights that training gives it."""

from autogm.algorithm.algorithm import AGGREGATIONS, ALL, Algorithm
from autogm.algorithm.weights import Weights

__all__ = ["AGGREGATIONS", "ALL", "Algorithm", "Weights"]
