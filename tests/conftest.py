"""Settings of all tests."""

from hypothesis import settings

# A busy machine is no error: examples may take their time.
settings.register_profile("covington", deadline=None)
settings.load_profile("covington")
