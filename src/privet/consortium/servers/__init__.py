"""Three servers: joint computation and hidden trees as services."""
