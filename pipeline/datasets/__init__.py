"""Data sets: published files, downloads, splits, captions and their tokens."""
