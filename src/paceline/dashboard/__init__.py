"""The dashboard: pages over the store, served on this machine."""
