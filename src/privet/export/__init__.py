"""Models for places where Privet is not: SQL, ONNX, scikit-learn's own trees, plain Python. Post-processing, free."""
