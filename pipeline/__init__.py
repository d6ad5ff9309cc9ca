"""Multilingual image-sentence retrieval: the stages of the papers, in the order the data walks."""
