"""Languages that the captions package cannot handle."""

UNSPACED = frozenset(("bo", "dz", "km", "lo", "my", "th"))  # written without spaces, and no tokeniser here
