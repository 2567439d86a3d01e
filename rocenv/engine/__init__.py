"""The only place that talks to container engines and registries."""

from rocenv.engine.engine import Engine, open_engine
from rocenv.engine.listing import ImageFacts

__all__ = ["Engine", "ImageFacts", "open_engine"]
