//! Interfaces beside the rpcs: both service names, reflection, health, metrics.

use axum::http::uri::PathAndQuery;
use hyper::StatusCode;
use listings::proto::{GetListingRequest, GetListingResponse};
use testkit::grpc::connect;
use tonic::client::Grpc;
use tonic::{Code, Request};
use tonic_reflection::pb::{v1, v1alpha};

use crate::support::{Server, a_product};

#[tokio::test]
async fn older_clients_are_served_under_the_older_name() {
    let server = Server::start().await;
    let made = server.client().await.create(a_product()).await;
    for package in ["listingssvc.v1", "listings.v1"] {
        let mut grpc = Grpc::new(connect(server.running.addresses.grpc).await);
        grpc.ready().await.unwrap();
        let path = format!("/{package}.ListingsService/GetListing").parse::<PathAndQuery>().unwrap();
        let codec = tonic_prost::ProstCodec::<GetListingRequest, GetListingResponse>::default();
        let request = Request::new(GetListingRequest { id: made.id, lang: None });
        let read = grpc.unary(request, path, codec).await.unwrap().into_inner();
        assert_eq!(read.listing.as_ref(), Some(&made), "{package}");
        let path = format!("/{package}.ListingsService/Nothing").parse::<PathAndQuery>().unwrap();
        let codec = tonic_prost::ProstCodec::<GetListingRequest, GetListingResponse>::default();
        grpc.ready().await.unwrap();
        let refused = grpc.unary(Request::new(GetListingRequest::default()), path, codec).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unimplemented);
    }
}

#[tokio::test]
async fn both_versions_of_reflection_list_both_names() {
    let server = Server::start().await;
    let channel = connect(server.running.addresses.grpc).await;
    let expect = ["grpc.health.v1.Health", "listings.v1.ListingsService", "listingssvc.v1.ListingsService"];
    let mut client = v1::server_reflection_client::ServerReflectionClient::new(channel.clone());
    let request = v1::ServerReflectionRequest {
        message_request: Some(v1::server_reflection_request::MessageRequest::ListServices(String::new())),
        ..Default::default()
    };
    let requests = stream_of(request);
    let mut answers = client.server_reflection_info(requests).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
    let v1::server_reflection_response::MessageResponse::ListServicesResponse(listed) = answer else {
        panic!("{answer:?}")
    };
    let names: Vec<String> = listed.service.into_iter().map(|service| service.name).collect();
    assert!(expect.iter().all(|name| names.contains(&(*name).to_owned())), "{names:?}");

    let mut client = v1alpha::server_reflection_client::ServerReflectionClient::new(channel);
    let symbol = "listings.v1.ListingsService".to_owned();
    let request = v1alpha::ServerReflectionRequest {
        message_request: Some(v1alpha::server_reflection_request::MessageRequest::FileContainingSymbol(
            symbol,
        )),
        ..Default::default()
    };
    let mut answers = client.server_reflection_info(stream_of(request)).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
    assert!(
        matches!(answer, v1alpha::server_reflection_response::MessageResponse::FileDescriptorResponse(_)),
        "{answer:?}"
    );
}

fn stream_of<T: Send + 'static>(one: T) -> impl tonic::IntoStreamingRequest<Message = T> {
    tonic::codegen::tokio_stream::once(one)
}

#[tokio::test]
async fn health_is_reported_on_every_path_and_over_grpc() {
    let server = Server::start().await;
    for path in [
        "/health",
        "/health/live",
        "/health/ready",
        "/health/startup",
        "/health/deep",
        "/healthz",
        "/readyz",
        "/ready",
    ] {
        let (status, body) = server.admin().get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
    }
    let deep = server.admin().text("/health/deep").await;
    assert!(deep.contains("\"status\":\"healthy\"") && deep.contains("\"database\":\"healthy\""), "{deep}");
    let mut health =
        tonic_health::pb::health_client::HealthClient::new(connect(server.running.addresses.grpc).await);
    for service in ["", "listingssvc.v1.ListingsService", "listings.v1.ListingsService"] {
        let request = tonic_health::pb::HealthCheckRequest { service: service.to_owned() };
        assert_eq!(health.check(request).await.unwrap().into_inner().status, 1, "{service}");
    }
}

#[tokio::test]
async fn calls_are_counted_by_method_and_status() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    for id in [id, id, 999] {
        let _answer = client.rpc.get_listing(GetListingRequest { id, lang: None }).await;
    }
    let metrics = server.admin().text("/metrics").await;
    for line in [
        "listings_grpc_requests_total{method=\"GetListing\",status=\"ok\"} 2",
        "listings_grpc_requests_total{method=\"GetListing\",status=\"not_found\"} 1",
        "listings_grpc_request_duration_seconds_count{method=\"GetListing\"} 3",
        "listings_cache_hits_total{kind=\"listing\"}",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
}
