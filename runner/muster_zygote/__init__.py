"""Makes sandboxes by forking processes that have imported everything already (docs/sandboxes.md)."""
