"""The gateway's control plane: compiles the config to a route table, and keeps the data plane up."""
