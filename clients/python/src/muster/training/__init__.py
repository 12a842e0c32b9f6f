"""Evaluates beside training. The callbacks of all training libraries use this."""
