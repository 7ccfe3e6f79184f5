"""Solving whole data sets, benchmarks, scores, reports and figures."""
