"""What goes wrong while covington works, done on purpose; what is lost is counted sentence by sentence."""
