"""The built-in probe of capability: problems from a seed whose answers a program can check."""
