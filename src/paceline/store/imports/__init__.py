"""Results that other tools have written, read into the store."""
