"""What a reader opens: Figures 3 and 4, and one self-contained page with all that was measured."""
