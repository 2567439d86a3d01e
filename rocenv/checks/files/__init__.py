"""Lints of what people write: compose files, Dockerfiles and `docker run` lines. Text in, findings out."""
