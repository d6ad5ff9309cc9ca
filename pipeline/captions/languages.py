"""Languages that the captions room can do nothing with."""

UNSPACED = frozenset(("bo", "dz", "km", "lo", "my", "th"))  # written without spaces, and no tokeniser here
