"""How to compute what an algorithm answers, fastest on this graph."""

from autogm.plan.plan import Plan, plan

__all__ = ["Plan", "plan"]
