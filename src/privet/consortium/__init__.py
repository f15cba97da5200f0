"""What runs between machines."""
