"""Retrieval: embeddings, ranks, recalls, and one JSON file per experiment."""
