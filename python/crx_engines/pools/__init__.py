"""Pools of workers, in processes of this machine or of others, and the jobs that they run."""
