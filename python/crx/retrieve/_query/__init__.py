"""Steps of a query before the legs are searched."""
