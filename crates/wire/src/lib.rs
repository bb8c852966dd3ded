//! HTTP/1.1, HTTP/2 and gRPC clients as state machines without input or output.
