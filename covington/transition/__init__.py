"""The transition system: configurations, transitions, gold trees, and what each transition costs."""
