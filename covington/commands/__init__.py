"""One module per subcommand: SUMMARY, EXAMPLE, add_arguments(parser), run(arguments) -> exit code."""
