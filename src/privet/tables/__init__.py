"""Reading records against a schema: the other room, beside the curators, that sees values."""
