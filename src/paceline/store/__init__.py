"""Stored runs: Parquet parts and a manifest a run, and an index over all (docs/reference/store.md)."""
