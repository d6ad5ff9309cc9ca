"""Models of the Hugging Face hub, downloaded in advance for compute nodes without a network."""
