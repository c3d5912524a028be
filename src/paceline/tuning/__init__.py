"""Find the settings of an engine that serve a workload best, and prove that they do."""
