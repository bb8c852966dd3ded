//! A server of hyper that answers by path.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Serve until the process ends, on a thread of its own.
pub(crate) fn serve() -> SocketAddr {
    let (send_address, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            send_address.send(listener.local_addr().unwrap()).unwrap();
            while let Ok((socket, _)) = listener.accept().await {
                let service = service_fn(answer);
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
            }
        });
    });
    address.recv().unwrap()
}

async fn answer(request: Request<Incoming>) -> Result<Response<Echo>, Infallible> {
    let path = request.uri().path().to_owned();
    let mut body = request.into_body();
    let mut rest = Vec::new();
    while let Some(Ok(frame)) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        rest.extend(frame.into_data().ok());
    }
    rest.reverse();
    let length = if path == "/chunked" { Length::Unsaid } else { Length::Said };
    let mut response = Response::new(Echo { rest, length });
    match path.as_str() {
        "/missing" => *response.status_mut() = http::StatusCode::NOT_FOUND,
        "/nothing" => *response.status_mut() = http::StatusCode::NO_CONTENT,
        "/close" => {
            response.headers_mut().insert("connection", http::HeaderValue::from_static("close"));
        }
        _ => {}
    }
    Ok(response)
}

/// What was received, sent back as it came.
struct Echo {
    /// The next piece is the last one here.
    rest: Vec<Bytes>,
    length: Length,
}

/// Whether the length is said beforehand; otherwise the body goes out chunked.
#[derive(PartialEq)]
enum Length {
    Said,
    Unsaid,
}

impl Body for Echo {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.rest.pop().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.length == Length::Said && self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        match self.length {
            Length::Said => SizeHint::with_exact(self.rest.iter().map(|piece| piece.len() as u64).sum()),
            Length::Unsaid => SizeHint::default(),
        }
    }
}
