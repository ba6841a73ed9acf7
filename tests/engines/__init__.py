"""The same jobs on engines of their own: Apache Flink and Prism; run by `make test-flink` and `make test-prism`."""
