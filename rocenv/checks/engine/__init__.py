"""The container engine: whether it answers, where its containers run, what it can give and hold."""
