"""Where results are logged: TensorBoard, Weights & Biases, MLflow, CSV files."""
