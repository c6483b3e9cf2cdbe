"""The errors, named by what the caller does next; each message is one line that says what to change."""

__all__ = ["ConfigError", "GiveUp", "GroundwireError", "RetryLater", "SkipThis"]


class GroundwireError(Exception):
    """Everything groundwire raises on purpose. Its message is for the user and never holds trace text or a secret."""


class ConfigError(GroundwireError):
    """Refuse to start: a setting, a file or an argument must be changed first."""


class RetryLater(GroundwireError):  # noqa: N818 - errors are named by what to do next
    """Try the same thing again, not before `after` seconds have passed."""

    def __init__(self, message: str, *, after: float = 0.0) -> None:
        super().__init__(message)
        self.after = after
        """Seconds to wait, ≥ 0; 0 leaves the wait to the caller's own backoff."""


class SkipThis(GroundwireError):  # noqa: N818 - errors are named by what to do next
    """This item cannot be used: record the message as its reason and go on with the next."""


class GiveUp(GroundwireError):  # noqa: N818 - errors are named by what to do next
    """This source or judge stops (a wrong key, an exhausted quota, a model that is gone); others go on."""
