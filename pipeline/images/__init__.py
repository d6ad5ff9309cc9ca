"""Image features: a frozen CNN over several crops of each photograph, pooled and averaged."""
