"""The same jobs on engines of their own: Apache Flink, Apache Spark and Prism; run by `make test-flink` and so on."""
