"""The metrics: each turns one partition into one row."""
