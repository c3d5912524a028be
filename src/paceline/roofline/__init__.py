"""How fast a model can be on a machine: what a token takes over what the machine moves and computes."""
