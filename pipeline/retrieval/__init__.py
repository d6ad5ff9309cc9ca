"""Retrieval: embeddings, ranks, recalls, and one JSON an experiment."""
