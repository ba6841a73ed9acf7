"""Parse, train and evaluate as Apache Beam pipelines."""
