"""Solvers of fragments that lie on no grid: candidates of pairs, assembly, sessions."""
