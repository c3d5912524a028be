"""Facts about models and offers, each with source and date: prices, published speeds, thresholds."""
