"""Questions about texts, with answers that are parts of the texts."""
