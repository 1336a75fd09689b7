"""Model runtimes that an extra brings, and the fakes of a model in a process of its own."""
