"""The papers' tables, and each number beside the paper's."""
