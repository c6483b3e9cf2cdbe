"""The HTML report: one self-contained file that shows every answer with its claims marked in place."""

from groundwire.jobs.report.entry import ReportEntry
from groundwire.jobs.report.page import HtmlReport, open_html, write_html

__all__ = ["HtmlReport", "ReportEntry", "open_html", "write_html"]
