"""What jobs would otherwise fetch from the Hugging Face hub, fetched beforehand for nodes without network."""
