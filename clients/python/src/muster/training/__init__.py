"""Evaluations beside training: the base of the callbacks of all training libraries."""
