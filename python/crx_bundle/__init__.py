"""Bundles: crx, its dependencies, models and licences in one folder, for a machine offline."""
