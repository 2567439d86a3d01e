"""The decisions: from a wish, a host and an engine to the one decided container. Pure: same input, same Plan."""

from __future__ import annotations

from rocenv.plan.make import Request, make_plan

__all__ = ["Request", "make_plan"]
