"""rocenv: from a bare host to an AMD GPU container that is known to work, in one command."""

__version__ = "0.1.0"
