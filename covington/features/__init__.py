"""Feature templates, their compiled form, and the encoded sentences that they look at."""
