"""The only place that talks to container engines and registries."""

from rocenv.engine.engine import Engine, open_engine

__all__ = ["Engine", "open_engine"]
