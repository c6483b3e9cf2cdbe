"""Reports: every answer with its claims marked in place, and rates over days; each one self-contained HTML file."""

from groundwire.jobs.report.entry import ReportEntry
from groundwire.jobs.report.making import make_rates
from groundwire.jobs.report.page import HtmlReport, open_html, write_html
from groundwire.jobs.report.rates import Group, Rate, RatesReport, Traces, rate_words, statuses_words
from groundwire.jobs.report.rates_page import rates_as_json, write_rates_html

__all__ = [
    "Group",
    "HtmlReport",
    "Rate",
    "RatesReport",
    "ReportEntry",
    "Traces",
    "make_rates",
    "open_html",
    "rate_words",
    "rates_as_json",
    "statuses_words",
    "write_html",
    "write_rates_html",
]
