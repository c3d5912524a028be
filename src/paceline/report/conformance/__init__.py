"""A stored run under the definitions of other tools, side by side with ours."""
