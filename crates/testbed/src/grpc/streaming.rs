//! Calls that stream: many messages out, or each message back as it comes.

use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::HeaderMap;

use super::behaviour::StreamEnd;
use super::call::Call;
use super::frames::{framed, headers, trailers};
use crate::log::{Entry, Outcome};

/// Messages of a server stream.
pub(super) struct MessageStream {
    pub(super) count: u8,
    /// Pause before each message.
    pub(super) gap: Duration,
    pub(super) end: StreamEnd,
}

/// Sends the messages of a server stream.
pub(super) async fn stream(
    call: &Call,
    entry: Entry,
    MessageStream { count, gap, end }: MessageStream,
    respond: &mut SendResponse<Bytes>,
) -> Result<(), h2::Error> {
    let mut stream = headers(respond)?;
    for number in 0..count {
        if !gap.is_zero() {
            tokio::select! {
                () = tokio::time::sleep(gap) => {}
                left = std::future::poll_fn(|cx| stream.poll_reset(cx)) => return left.and(Err(Reason::CANCEL.into())),
            }
        }
        stream.send_data(framed(&[0x0a, 1, b'a' + number % 26]), false)?;
    }
    finish(call, entry, end, stream).await
}

async fn finish(
    call: &Call,
    entry: Entry,
    end: StreamEnd,
    mut stream: SendStream<Bytes>,
) -> Result<(), h2::Error> {
    let log = &call.server.shared.log;
    match end {
        StreamEnd::Code(code) => {
            log.ending(entry, Some(code), Outcome::Answered);
            stream.send_trailers(trailers(code, ""))
        }
        StreamEnd::NoStatus => {
            log.ending(entry, None, Outcome::Answered);
            stream.send_trailers(HeaderMap::new())
        }
        StreamEnd::Reset(reason) => {
            log.ending(entry, None, Outcome::Reset);
            stream.send_reset(Reason::from(reason));
            Ok(())
        }
        StreamEnd::Broken => {
            log.ending(entry, Some(0), Outcome::Answered);
            stream.send_data(Bytes::from_static(b"\0\0\0\0\x09half"), false)?;
            stream.send_trailers(trailers(0, ""))
        }
        StreamEnd::Never => {
            std::future::poll_fn(|cx| stream.poll_reset(cx)).await?;
            Err(Reason::CANCEL.into())
        }
    }
}

/// Sends the request's bytes back as they come, without looking at message boundaries.
pub(super) async fn echo(
    mut body: RecvStream,
    respond: &mut SendResponse<Bytes>,
) -> Result<Vec<u8>, h2::Error> {
    let mut stream = headers(respond)?;
    let mut all = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        all.extend_from_slice(&data);
        stream.send_data(data, false)?;
    }
    stream.send_trailers(trailers(0, ""))?;
    Ok(all)
}
