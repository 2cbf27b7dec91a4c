"""Views that several kinds share."""
