"""The papers' tables, with each number next to the paper's."""
