"""What compiled code knows about characters: their class and their case, the same under every Python version."""
