"""Language models without a network: counts of n-grams, and compressors."""
