"""Who may open the device nodes: on the host, or inside a container where the facts are a container's."""
