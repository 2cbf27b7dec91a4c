"""Questions about texts, with answers that stand in them."""
