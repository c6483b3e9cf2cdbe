"""The command line: `groundwire …`. Each command's own imports happen when it runs, so that help is quick."""

import sys

import typer

from groundwire.jobs.cli import commands

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
    except KeyboardInterrupt:
        sys.exit(_say("interrupted", 130))
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        from groundwire.scorer import GroundwireError

        if not isinstance(error, GroundwireError):
            raise
        sys.exit(_say(str(error), 2))


def _say(line: str, code: int) -> int:
    sys.stderr.write(f"groundwire: {line}\n")
    return code
