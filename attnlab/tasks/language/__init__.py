"""Language models: decoder-only models of texts, and tasks of recall."""
