//! Why what a script asks for is not a request.

use crate::http::Failure;
use crate::js::Thrown;

/// Why there is no request.
#[derive(Debug)]
pub(super) enum Refused {
    /// Reading its parts has thrown.
    Thrown,
    /// They are not those of a request: the script gets a response that says so.
    Failed(Failure),
}

impl From<Thrown> for Refused {
    fn from(_: Thrown) -> Refused {
        Refused::Thrown
    }
}
