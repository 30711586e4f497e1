"""`python -m whence` is the command `whence`."""

import sys


def main() -> None:
    """Run the command line; an interrupt before it has loaded ends as any other does."""
    try:
        from whence.app.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
