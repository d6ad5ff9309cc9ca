"""The demo data sets: drawn scenes, and captions written by small grammars that are data."""
