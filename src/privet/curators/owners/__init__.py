"""The owner's side of federated, joint and hidden training."""
