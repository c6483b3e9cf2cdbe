"""For those who write or test a connector: a contract to pass, a platform to talk to, traces with known answers."""

from groundwire.connectors.testing.contract import ConnectorContract, ContractPlatform, Shown
from groundwire.connectors.testing.faces import FakeSettings, FakeSink, FakeSource, fake
from groundwire.connectors.testing.platform import FakePlatform
from groundwire.connectors.testing.rules import Faults, Overwriting, StoredScore
from groundwire.connectors.testing.traces import Sample, SampleKind, make_sample, make_samples

__all__ = [
    "ConnectorContract",
    "ContractPlatform",
    "FakePlatform",
    "FakeSettings",
    "FakeSink",
    "FakeSource",
    "Faults",
    "Overwriting",
    "Sample",
    "SampleKind",
    "Shown",
    "StoredScore",
    "fake",
    "make_sample",
    "make_samples",
]
