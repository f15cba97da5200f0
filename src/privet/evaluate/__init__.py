"""How good a released model is, told privately: one noisy table, and what follows from it with intervals."""
