"""`python -m whence` is the command `whence`."""

import sys


def main() -> None:
    """Run the command line; an interrupt before it has loaded ends as any other does."""
    try:
        from whence.app.cli import main as run

        run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    finally:
        # An interrupt inside an `exec`, as where a dataclass is made, is remembered by `python -m`,
        # which then ends itself by the signal, whatever the exit code; the next `exec` forgets it.
        exec("")


if __name__ == "__main__":
    main()
