"""The model file, the options that it was trained with, and which columns and tags it knows."""
