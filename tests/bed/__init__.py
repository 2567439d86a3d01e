"""The test bed: a machine without an AMD GPU made to look like one with four, for the demo and the engine tests.

README.md beside this file says what is real here and what is not. Standard library only, but for the builder of
host trees in tests/hosts, which needs PyYAML.
"""
