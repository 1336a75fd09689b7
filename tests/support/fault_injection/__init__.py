"""Commands that are killed, damaged index folders, and recorded disks, for `tests/reliability`."""
