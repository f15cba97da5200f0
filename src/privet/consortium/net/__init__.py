"""Certificates, channels and links between machines."""

from privet.extras import need

need("mpc", "cryptography")
