"""Fetches the files of a checkpoint into a directory that sandboxes see: complete and verified, or not at all."""
