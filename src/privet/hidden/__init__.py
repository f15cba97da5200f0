"""Trees that nobody sees whole: structure and labels on secret shares (paper 003)."""
