"""Trees, transitions and results to look at: on a terminal, as pictures, as pages."""
