"""Certificates, channels and links between machines."""
