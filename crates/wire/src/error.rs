//! What can go wrong on a connection, as types that cost nothing to make.

use evidence::Outcome;

/// Why a request or a whole connection failed. Never allocates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The peer broke the protocol; the text says how.
    #[error("the peer broke the protocol: {0}")]
    Malformed(&'static str),
    /// What the peer sent first is not HTTP/2.
    #[error("the server does not speak HTTP/2 on this port")]
    NotHttp2,
    /// The same of HTTP/1.x: the response is a frame of HTTP/2.
    #[error("the server speaks HTTP/2 on this port, and not HTTP/1.x")]
    NotHttp1,
    /// The peer closed before sending a byte of the response. On a kept-alive connection this is the
    /// race with the peer's idle limit.
    #[error("the connection was closed before any response")]
    ClosedBeforeResponse,
    /// The peer closed in the middle of a response.
    #[error("the connection was closed in the middle of a response")]
    UnexpectedEof,
    /// A response head (or trailers) above the limit on bytes or fields.
    #[error("the response head is too large")]
    HeadTooLarge,
    /// A header block that HPACK cannot decode.
    #[error("the header block cannot be decoded (HPACK)")]
    HpackError,
    /// An HTTP/2 frame whose length its type does not allow.
    #[error("an HTTP/2 frame has a wrong size")]
    FrameSize,
    /// The peer sent more than the window allowed, or overflowed ours.
    #[error("the peer broke HTTP/2 flow control")]
    FlowControl,
    /// A body longer or shorter than its content-length.
    #[error("the body's length differs from its content-length")]
    BodyLength,
    /// More frames that carry nothing than any honest peer sends.
    #[error("the peer floods the connection with {0}")]
    Flood(&'static str),
    /// The peer reset this stream, with its HTTP/2 error code.
    #[error("the stream was reset with HTTP/2 error code {0}")]
    StreamReset(u32),
    /// The peer refused the stream before processing it; it may be sent again.
    #[error("the stream was refused unprocessed")]
    RefusedStream,
    /// The same of a stream beyond the peer's limit that was opened before the limit had arrived.
    #[error("the stream was refused unprocessed: it was opened before the peer's limit on streams arrived")]
    RefusedBeforeSettings,
    /// The peer said that it gives up the connection, with its HTTP/2 error code, and closed it.
    #[error("the connection was ended with HTTP/2 error code {0}")]
    ConnectionEnded(u32),
    /// The peer is going away, with its HTTP/2 error code. As the error of one request: the peer did not
    /// process it, and it may be sent again.
    #[error("the peer is going away with HTTP/2 error code {0}")]
    GoAway(u32),
}

impl WireError {
    /// The outcome that a request gets when this ends it: `reset` where the peer gave up the exchange,
    /// `protocol` where it said something that cannot be understood.
    pub fn outcome(&self) -> Outcome {
        match self {
            WireError::ClosedBeforeResponse
            | WireError::UnexpectedEof
            | WireError::StreamReset(_)
            | WireError::RefusedStream
            | WireError::RefusedBeforeSettings
            | WireError::ConnectionEnded(_)
            | WireError::GoAway(_) => Outcome::Reset,
            _ => Outcome::Protocol,
        }
    }
}

/// Why a request could not be started. Nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// No capacity now, or the connection takes no more requests.
    #[error("the connection takes no request now")]
    NotReady,
    /// The request cannot be encoded; the text gives the reason.
    #[error("the request cannot be sent: {0}")]
    Invalid(&'static str),
}
