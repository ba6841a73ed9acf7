"""A pool of Beam workers at one address of this machine; Beam's own listens on all of them.

Run as a script by the Python of the environment that the workers shall have. Two TaskManagers must not share a pool:
both number their workers 1, 2, 3, and the pool would stop the worker of one when the other is done with its own.
"""

import sys

import grpc
from apache_beam.portability.api import beam_fn_api_pb2_grpc
from apache_beam.runners.worker.worker_pool_main import BeamFnExternalWorkerPoolServicer
from apache_beam.utils import thread_pool_executor

server = grpc.server(thread_pool_executor.shared_unbounded_instance())
pool = BeamFnExternalWorkerPoolServicer(use_process=True, data_buffer_time_limit_ms=-1)
beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(pool, server)
if not server.add_insecure_port(sys.argv[1]):
    sys.exit(f"nobody may listen at {sys.argv[1]}")
server.start()
server.wait_for_termination()
