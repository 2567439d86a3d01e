"""One answer, many forms: plain data for --json and plain text for people, from the same nouns. No I/O."""
