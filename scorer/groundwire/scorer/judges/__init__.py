"""The judges: the offline rules, an LLM, a decision model."""
