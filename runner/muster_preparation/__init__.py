"""Programs that run in sandboxes while tasks are prepared from a repository."""
