"""The command line: `groundwire …`. Each command's own imports happen when it runs."""

import sys

import typer

from groundwire.jobs.cli import commands
from groundwire.scorer import GroundwireError

__all__ = ["app", "main"]

app = typer.Typer(
    name="groundwire",
    help="Is what the LLM application said supported by the evidence it had?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
commands.register(app)


def main() -> None:
    """Run the command line; a user's mistake is one line on standard error and exit code 2."""
    try:
        app()
    except GroundwireError as error:
        print(f"groundwire: {error}", file=sys.stderr)  # noqa: T201 - the one line for a user's mistake
        sys.exit(2)
    except KeyboardInterrupt:
        print("groundwire: interrupted", file=sys.stderr)  # noqa: T201 - as above
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
