"""A page of HTML in one file without network, made from a description in plain types."""
