"""How to compute what an algorithm answers, fastest on this graph."""

from autogm.plan.cost import CostModel, calibrate
from autogm.plan.matrices import aggregations, feature_matrix
from autogm.plan.nodes import NodePlan, node_plan
from autogm.plan.plan import Plan, paper_plan, plan
from autogm.plan.rewrite import Given, first_width

__all__ = [
    "CostModel",
    "Given",
    "NodePlan",
    "Plan",
    "aggregations",
    "calibrate",
    "feature_matrix",
    "first_width",
    "node_plan",
    "paper_plan",
    "plan",
]
