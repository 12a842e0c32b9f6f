"""Where results are logged: TensorBoard, Weights & Biases, MLflow, Aim, CSV files."""
