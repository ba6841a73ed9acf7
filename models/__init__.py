"""The models that come in the box."""
