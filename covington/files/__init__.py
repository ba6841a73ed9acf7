"""Files on this machine and elsewhere: listing, opening, compression, and writing whole or not at all."""
