"""One point of the framework."""

from autogm.algorithm.algorithm import AGGREGATIONS, ALL, Algorithm

__all__ = ["AGGREGATIONS", "ALL", "Algorithm"]
