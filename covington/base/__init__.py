"""What every other room may use: hashing, checksums, signals, the machine, text for a terminal, progress."""
