//! Goals, progress and rewards over HTTP and gRPC.
