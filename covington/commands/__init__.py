"""One module per subcommand: EXAMPLE, add_arguments(parser), run(arguments) -> exit code."""
