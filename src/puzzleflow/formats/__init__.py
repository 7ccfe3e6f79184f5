"""File formats by name: opening and auditing what lies at a path."""
