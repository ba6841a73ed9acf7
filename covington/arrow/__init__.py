"""Arrow buffers and views for compiled code, and Arrow arrays as numpy arrays."""
