"""`python -m groundwire.jobs.cli`: the command line where the script isn't on the path."""

from groundwire.jobs.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
