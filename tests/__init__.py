"""Tests; the tree mirrors src/paceline."""
