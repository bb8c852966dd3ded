//! How a gRPC target behaves.

use std::time::Duration;

/// How a gRPC target behaves at one method, by its path `/package.Service/Method`. Messages are bytes: what
/// they mean is between the test and its descriptors. Delays count from the end of the request and are
/// rounded up to whole milliseconds by the runtime below; the log has what they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrpcBehaviour {
    /// Headers, one message, trailers with `code`.
    Fixed {
        /// The message, without its prefix.
        message: Vec<u8>,
        /// The code of `grpc-status`.
        code: u16,
        /// How long the request is held before.
        delay: Duration,
    },
    /// Answers with the message it was sent.
    Echo,
    /// Headers, no message, trailers with `code` and `message`.
    Status {
        /// The code of `grpc-status`.
        code: u16,
        /// `grpc-message`, which must be ASCII.
        message: String,
    },
    /// The same in one block of headers that ends the stream.
    TrailersOnly {
        /// The code of `grpc-status`.
        code: u16,
        /// `grpc-message`, which must be ASCII.
        message: String,
    },
    /// Reads the request and never answers.
    Never,
    /// Sends headers and the first bytes of a message, then nothing.
    Half,
    /// Resets the stream with this HTTP/2 error code: 2 is `INTERNAL_ERROR`, 7 `REFUSED_STREAM`, 8
    /// `CANCEL`.
    Reset {
        /// The error code of RST_STREAM.
        reason: u32,
    },
    /// Answers with an empty message, and says by GOAWAY that the connection takes no further streams.
    GoAway,
    /// Ends the connection at once with GOAWAY and this error code, without an answer.
    Abort {
        /// The error code of GOAWAY.
        reason: u32,
    },
    /// These bytes as data, which need not be a message with its prefix, then trailers with code 0.
    Garbage(Vec<u8>),
    /// Headers at once, then this many messages whose field 1 is one letter, from `a` on, each `gap` after
    /// the one before, then what `end` says.
    Stream {
        /// How many messages.
        count: u8,
        /// The pause before each message.
        gap: Duration,
        /// What follows the last one.
        end: StreamEnd,
    },
    /// Headers that end the stream with this code, before any of the request is read.
    EarlyStatus {
        /// The code of `grpc-status`.
        code: u16,
    },
    /// Sends each message back as it comes, and trailers with code 0 when the last has come.
    EchoEach,
    /// Another HTTP status with a body of plain text, as a proxy in between answers.
    Http(u16),
}

/// What follows the last message of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// Trailers with this code.
    Code(u16),
    /// Trailers without a status.
    NoStatus,
    /// The stream is reset with this HTTP/2 error code.
    Reset(u32),
    /// The first bytes of another message, then trailers with code 0.
    Broken,
    /// Nothing, ever.
    Never,
}

impl GrpcBehaviour {
    /// `message` with code 0 at once.
    pub fn ok(message: impl Into<Vec<u8>>) -> Self {
        GrpcBehaviour::Fixed { message: message.into(), code: 0, delay: Duration::ZERO }
    }

    /// An empty message with code 0 after `delay`.
    pub fn after(delay: Duration) -> Self {
        GrpcBehaviour::Fixed { message: Vec::new(), code: 0, delay }
    }

    /// Trailers with `code` and no message.
    pub fn status(code: u16) -> Self {
        GrpcBehaviour::Status { code, message: format!("code {code}") }
    }
}
