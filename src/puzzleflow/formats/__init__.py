"""File formats by name: whatever lies at a path is opened or audited."""
