"""What the headers of a model's files say of it: its shape, its bytes, and the work of one token."""
