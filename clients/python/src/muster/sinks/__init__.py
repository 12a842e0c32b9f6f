"""Sinks for results: TensorBoard, Weights & Biases, MLflow, Aim, CSV files."""
