"""What the engine knows of services that are sent texts: hosts, costs, jobs in flight."""
