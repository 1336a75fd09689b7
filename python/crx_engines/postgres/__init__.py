"""The engine on PostgreSQL 15 or newer with pgvector."""
