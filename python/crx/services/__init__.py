"""Values between the engine and models: prompts, hosts, the work and price of a run, batch jobs."""
