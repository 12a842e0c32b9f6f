"""Exports policies as portable files: layers as data, without the code that trained them."""
