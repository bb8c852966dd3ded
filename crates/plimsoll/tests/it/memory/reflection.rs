//! Server reflection that describes more than a service.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prost::Message as _;
use prost_types::{DescriptorProto, FileDescriptorProto, MethodDescriptorProto, ServiceDescriptorProto};
use tonic::codegen::tokio_stream::{self, Stream, StreamExt as _};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, Streaming};
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::server_reflection_server::{ServerReflection, ServerReflectionServer};
use tonic_reflection::pb::v1::{FileDescriptorResponse, ServerReflectionRequest, ServerReflectionResponse};

use super::{BASE_MIB, run_script_within};
use crate::command::TestFolder;

/// Answers every query with these files, so many times.
#[derive(Clone)]
struct Hostile {
    files: Files,
    repeats: usize,
}

/// The files of one answer.
type Files = Arc<dyn Fn() -> Vec<Vec<u8>> + Send + Sync>;

fn same(files: Vec<Vec<u8>>) -> Files {
    Arc::new(move || files.clone())
}

#[tonic::async_trait]
impl ServerReflection for Hostile {
    type ServerReflectionInfoStream =
        Pin<Box<dyn Stream<Item = Result<ServerReflectionResponse, Status>> + Send>>;

    async fn server_reflection_info(
        &self,
        request: Request<Streaming<ServerReflectionRequest>>,
    ) -> Result<Response<Self::ServerReflectionInfoStream>, Status> {
        let files = FileDescriptorResponse { file_descriptor_proto: (self.files)() };
        let one = ServerReflectionResponse {
            message_response: Some(MessageResponse::FileDescriptorResponse(files)),
            ..ServerReflectionResponse::default()
        };
        let repeats = self.repeats;
        let answers = request.into_inner().map(move |_| tokio_stream::iter(vec![Ok(one.clone()); repeats]));
        Ok(Response::new(Box::pin(flatten(answers))))
    }
}

fn flatten<
    S: Stream<Item = T> + Send + 'static,
    T: Stream<Item = U> + Send + Unpin + 'static,
    U: Send + 'static,
>(
    streams: S,
) -> impl Stream<Item = U> + Send {
    let mut streams = Box::pin(streams);
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        while let Some(mut stream) = streams.next().await {
            while let Some(item) = stream.next().await {
                if sender.send(item).await.is_err() {
                    return;
                }
            }
        }
    });
    Receiving(receiver)
}

struct Receiving<T>(tokio::sync::mpsc::Receiver<T>);

impl<T> Stream for Receiving<T> {
    type Item = T;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<T>> {
        self.0.poll_recv(context)
    }
}

fn serve(hostile: Hostile) -> (SocketAddr, tokio::runtime::Runtime) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (address, serving) = runtime.block_on(async {
        let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = incoming.local_addr().unwrap();
        (
            address,
            Server::builder().add_service(ServerReflectionServer::new(hostile)).serve_with_incoming(incoming),
        )
    });
    runtime.spawn(serving);
    (address, runtime)
}

/// The file of a service `a.S` with the method `Go`, and these messages.
fn file(messages: Vec<DescriptorProto>) -> FileDescriptorProto {
    let method = MethodDescriptorProto {
        name: Some("Go".to_owned()),
        input_type: Some(".a.M".to_owned()),
        output_type: Some(".a.M".to_owned()),
        ..MethodDescriptorProto::default()
    };
    let service = ServiceDescriptorProto {
        name: Some("S".to_owned()),
        method: vec![method],
        ..ServiceDescriptorProto::default()
    };
    let first = DescriptorProto { name: Some("M".to_owned()), ..DescriptorProto::default() };
    FileDescriptorProto {
        name: Some("a.proto".to_owned()),
        package: Some("a".to_owned()),
        message_type: [vec![first], messages].concat(),
        service: vec![service],
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    }
}

/// Runs a call that the server describes; the command is refused more memory than stated.
#[track_caller]
fn check(hostile: Hostile, texts: &[&str]) {
    let (address, _runtime) = serve(hostile);
    let folder = TestFolder::new(&format!(
        "version = 1\nprecheck = false\n[targets.peer]\ngrpc = \"{address}\"\n\
         [[scenarios]]\nname = \"s\"\nexecutor = \"constant-vus\"\nvus = 1\nduration = \"1s\"\n\
         [[scenarios.steps]]\nname = \"call\"\ngrpc = \"peer/a.S/Go\"\nmessage = {{}}\n"
    ));
    let limit = format!("ulimit -d {}", (BASE_MIB + 256) * 1024);
    let ran = folder.plimsoll_after(&limit, &["run", "plan.toml", "--quiet", "--once"]);
    eprintln!("{texts:?}: at most {} MiB, bound 256 + {BASE_MIB} MiB", ran.peak_mib);
    ran.exits_with(2).stderr_contains(texts);
}

fn named(name: &str) -> DescriptorProto {
    DescriptorProto { name: Some(name.to_owned()), ..DescriptorProto::default() }
}

#[test]
fn a_description_takes_no_more_than_stated() {
    // Each message is two bytes, and takes hundreds.
    let mut empty_messages = file(Vec::new()).encode_to_vec();
    empty_messages.extend_from_slice(&b"\x22\0".repeat(3 << 20));
    check(Hostile { files: same(vec![empty_messages]), repeats: 1 }, &["target `peer`", "more than"]);

    // Every message's full name repeats the names of those around it.
    let mut nested =
        DescriptorProto { nested_type: (0..2_000).map(|n| named(&format!("A{n}"))).collect(), ..named("A") };
    for _ in 0..20 {
        nested = DescriptorProto { nested_type: vec![nested], ..named(&"N".repeat(60_000)) };
    }
    check(
        Hostile { files: same(vec![file(vec![nested]).encode_to_vec()]), repeats: 1 },
        &["target `peer`", "more than"],
    );

    let many = file((0..20_000).map(|n| named(&format!("A{n}"))).collect()).encode_to_vec();
    check(Hostile { files: same(vec![many; 100]), repeats: 1 }, &["target `peer`"]);

    let small = file(Vec::new()).encode_to_vec();
    check(Hostile { files: same(vec![small]), repeats: 1_000_000 }, &["target `peer`"]);

    let mut deep = named("A");
    for _ in 0..120 {
        deep = DescriptorProto { nested_type: vec![deep], ..named("A") };
    }
    check(
        Hostile { files: same(vec![file(vec![deep]).encode_to_vec()]), repeats: 1 },
        &["target `peer`", "nested"],
    );
}

#[test]
fn a_script_holds_the_last_description_of_each_client_only() {
    let count = AtomicUsize::new(0);
    let files = move || {
        let number = count.fetch_add(1, Ordering::Relaxed);
        vec![file((0..5_000).map(|n| named(&format!("A{number}_{n}"))).collect()).encode_to_vec()]
    };
    let (address, _runtime) = serve(Hostile { files: Arc::new(files), repeats: 1 });
    let script = format!(
        "import grpc from 'k6/net/grpc';
        export const options = {{ vus: 1, iterations: 100, duration: '110s' }};
        const client = new grpc.Client();
        let count = 0;
        export default function () {{
            count += client.connect('{address}', {{ plaintext: true, reflect: true }}) ? 1 : 0;
            client.close();
            if (count === 100) console.log('connected', count);
        }}"
    );
    run_script_within(256, &script, &["connected 100"]);
}
