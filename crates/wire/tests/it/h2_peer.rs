//! A server of the `h2` crate that answers by path.

use std::net::SocketAddr;

use bytes::Bytes;
use h2::server::{self, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Request, Response};
use tokio::net::{TcpListener, TcpStream};

/// Serve until the process ends, on a thread of its own.
pub(crate) fn serve(builder: server::Builder) -> SocketAddr {
    let (send_address, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            send_address.send(listener.local_addr().unwrap()).unwrap();
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(connection(socket, builder.clone()));
            }
        });
    });
    address.recv().unwrap()
}

async fn connection(socket: TcpStream, builder: server::Builder) {
    let Ok(mut connection) = builder.handshake::<_, Bytes>(socket).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        match request.uri().path() {
            "/last" => connection.graceful_shutdown(),
            "/abrupt" => connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM),
            _ => {}
        }
        tokio::spawn(answer(request, respond));
    }
}

/// A failure here is one that the client provoked, and sees.
async fn answer(request: Request<RecvStream>, mut respond: SendResponse<Bytes>) -> Result<(), h2::Error> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let reason = match path.as_str() {
        "/reset" => Some(Reason::INTERNAL_ERROR),
        "/refused" => Some(Reason::REFUSED_STREAM),
        "/silent" => std::future::pending().await,
        _ => None,
    };
    if let Some(reason) = reason {
        respond.send_reset(reason);
        return Ok(());
    }
    let received = collect(body).await?;
    let mut response = Response::new(());
    if path == "/headers" {
        *response.headers_mut() = head.headers;
    }
    if path == "/empty" {
        return respond.send_response(response, true).map(drop);
    }
    let mut stream = respond.send_response(response, false)?;
    match path.as_str() {
        "/grpc" => {
            send(&mut stream, Bytes::from(received)).await?;
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", 9.into());
            trailers.insert("grpc-message", "not%20yet".parse().unwrap());
            stream.send_trailers(trailers)
        }
        "/half" => {
            send(&mut stream, Bytes::from_static(b"half")).await?;
            stream.send_reset(Reason::CANCEL);
            Ok(())
        }
        _ => {
            send(&mut stream, Bytes::from(received)).await?;
            stream.send_data(Bytes::new(), true)
        }
    }
}

async fn collect(mut body: RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut received = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        received.extend_from_slice(&data);
        body.flow_control().release_capacity(data.len())?;
    }
    Ok(received)
}

/// Only as fast as the client's windows let it.
async fn send(stream: &mut SendStream<Bytes>, mut rest: Bytes) -> Result<(), h2::Error> {
    while !rest.is_empty() {
        stream.reserve_capacity(rest.len());
        let Some(capacity) = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await else { break };
        let part = rest.split_to(capacity?.min(rest.len()));
        stream.send_data(part, false)?;
    }
    Ok(())
}
