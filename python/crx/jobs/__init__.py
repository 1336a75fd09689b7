"""The jobs of pools of workers: embedding, and writing contexts."""
