//! gRPC on top of HTTP/2 events: request headers and framing on the way out; message and status on
//! the way in.
//!
//! A call is complete at [`crate::Event::Done`]. Its status comes from [`Status::from_trailers`] over the trailers,
//! or, when there are none, from [`code_of_http`] over the head's status. A status of OK with no message,
//! or with more than one, is a broken unary call: see [`Deframer::finish`].

mod message;
mod request;
mod status;

pub use message::{
    Deframer, Framed, MAX_MESSAGE_BYTES, MessageError, begin_message, end_message, frame_message,
    mark_compressed, single_message,
};
pub use request::{method_path, push_headers, timeout_value};
pub use status::{Status, code_of_http};
