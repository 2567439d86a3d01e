"""The machine itself: what is on the bus, the driver, KFD, and what the host does to GPUs."""
