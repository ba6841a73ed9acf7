"""For people who study the algorithm: losses, bounds, and the oracles compared."""
