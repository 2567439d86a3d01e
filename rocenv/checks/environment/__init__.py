"""What is around a program: variables, Python packages, caches, HIP's own answer, clusters, and the profile itself."""
