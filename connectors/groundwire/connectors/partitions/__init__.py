"""A trace cut into what is scored: one partition for each model call, for the trace, or for a session of traces."""

from groundwire.connectors.partitions.cutting import cut, cut_session

__all__ = ["cut", "cut_session"]
