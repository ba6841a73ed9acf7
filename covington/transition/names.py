"""Names of the transitions, the systems, the oracles and the roots, in the order of the compiled code."""

TRANSITIONS = ("Shift", "NoArc", "LeftArc", "RightArc")
ORACLES = ("static", "monotonic", "lower", "pc-upper", "upper")
SYSTEMS = ("monotonic", "non-monotonic")
ROOTS = ("implicit", "explicit")
