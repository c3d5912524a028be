"""Data sets: prompts, conversations and logged requests from files, as jobs."""
