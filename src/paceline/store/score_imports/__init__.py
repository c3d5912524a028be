"""Capability scores that other tools have found."""
