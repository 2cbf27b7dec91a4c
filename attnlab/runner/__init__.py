"""One run: trained epoch by epoch, recorded, loaded again."""
