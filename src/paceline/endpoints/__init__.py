"""Endpoints: what a target is, and whether it answers before load begins."""
