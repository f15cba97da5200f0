"""Three servers: joint computation and hidden trees as services."""

from privet.extras import need

need("mpc", "cryptography")
