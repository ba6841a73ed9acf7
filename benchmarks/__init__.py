"""Speed, memory and growth of the parser, of its files and pipelines, and of its peers: `python -m benchmarks`."""
