import pyarrow as pa

SEGMENTED: pa.Schema
