"""Benchmarks, each runnable as `python -m tests.benchmarks.<name>` from the root of the checkout."""
