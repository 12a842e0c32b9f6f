"""Evaluations beside training: what the callbacks of all training libraries stand on."""
