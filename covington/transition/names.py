"""Names of the transitions, the systems, the oracles and the roots, in the order of the compiled code."""

TRANSITIONS = ("Shift", "NoArc", "LeftArc", "RightArc")
ORACLES = ("static", "monotonic", "lower", "pc-upper", "upper")
#: the oracles of the monotonic system; the others are of the non-monotonic one
MONOTONIC_ORACLES = ("static", "monotonic")
SYSTEMS = ("monotonic", "non-monotonic")
ROOTS = ("implicit", "explicit")
