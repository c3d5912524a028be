"""Workloads: a seed and a specification become the requests of a run."""
