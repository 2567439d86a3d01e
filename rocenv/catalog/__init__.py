"""Dated facts about AMD GPUs, drivers, releases and images: YAML for people, compiled to JSON that loads fast.

One module per table asks the questions; `table.load` reads; `python -m rocenv.catalog.compile` compiles after an edit.
"""
