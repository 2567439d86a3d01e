"""The entry point: `rocenv`, and `python -m rocenv`."""

import sys


def main() -> None:
    """Answer `--version` at once; hand everything else to the command line proper."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        from rocenv import __version__

        print(f"rocenv {__version__}")  # noqa: T201
        return
    from rocenv.cli.app import run

    sys.exit(run(arguments))


if __name__ == "__main__":
    main()
