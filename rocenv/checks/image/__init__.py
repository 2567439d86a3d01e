"""An image, pulled or not: whether it is there, made for these GPUs and this driver, and holds what it should."""
