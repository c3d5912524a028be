"""Engines of one's own: found, set up for a tier, started, watched and stopped. None is written here."""
