"""Multilingual image-sentence retrieval: the stages of the papers, in the order of the data flow."""
