"""EmbN, PARALLEL-EmbN and MULE, and their losses."""
