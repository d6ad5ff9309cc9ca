"""The configuration: read and validated as a whole, then reduced to what each stage depends on."""
