"""The papers' tables, with each number beside the paper's."""
