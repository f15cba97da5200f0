"""No test depends on how busy the machine is: examples of Hypothesis may take as long as they take."""

from hypothesis import settings

settings.register_profile("privet", deadline=None)
settings.load_profile("privet")
