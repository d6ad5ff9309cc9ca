"""Captions of every data set in one table, and their tokens."""
