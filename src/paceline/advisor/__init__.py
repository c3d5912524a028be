"""Which model, provider and tier is good enough, fast enough and cheapest, by own evidence."""
