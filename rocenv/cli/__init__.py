"""The command line: one file per command, `console` for all that is shown, `app` for the table of commands."""
