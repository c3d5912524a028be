"""Tests of paceline.stats."""
