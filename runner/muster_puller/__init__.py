"""Fetches the files of a checkpoint to where sandboxes see them: whole and verified, or not at all."""
