"""The nouns of rocenv, frozen: what a host is (`host`), what is wished (`wish`), decided (`plan`) and shown (`proof`).

Each in a module of its own, so that a command pays only for the nouns it uses.
"""
