"""What a released model says: its rules as text, importances, dependence."""
