"""A Plan in the words of another tool: one format, one module. Pure: text in, text out."""
