"""The web service: webhooks, the decision model, scores on request, health and metrics."""

from groundwire.jobs.web.application import build_application
from groundwire.jobs.web.served import Served, require_secrets
from groundwire.jobs.web.server import listen, serve

__all__ = ["Served", "build_application", "listen", "require_secrets", "serve"]
