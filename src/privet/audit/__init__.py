"""What the guarantees are worth: tools that try to break them."""
