"""The life of an environment: made, used again, changed, removed. What is true stands in the engine's labels alone.

Prints nothing: `tell` gets a line for the person who watches, `ask` decides where something of theirs would be lost.
Killed at any moment, this leaves nothing that the next `up` or `down` does not mend: the engine makes a container in
one step of its own, and a new cache volume has a marker volume beside it until it belongs to its user.

One module a verb (`up`, `down`), and what they share: `find`, `decided`, `volumes`, `proofs`.
"""
