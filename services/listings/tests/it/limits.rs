//! The rate limiter.

use listings::proto::{GetListingRequest, GetProductStatsRequest};
use prost::Message;
use tonic::{Code, Request};

use crate::support::{Server, a_product};

const ON: (&str, &str) = ("RATE_LIMIT_ENABLED", "true");

fn stats() -> GetProductStatsRequest {
    GetProductStatsRequest { storefront_id: 3 }
}

/// `google.rpc.Status` with one `RetryInfo`.
#[derive(Clone, PartialEq, Message)]
struct Details {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<prost_types::Duration>,
}

#[tokio::test]
async fn the_301st_call_in_a_minute_is_refused_with_the_time_of_a_retry() {
    let server = Server::start_with(&[ON]).await;
    // The same caller on two connections with different ports.
    let mut clients = [server.client().await, server.client().await];
    for number in 0..300 {
        clients[number % 2].rpc.get_product_stats(stats()).await.unwrap();
    }
    let refused = clients[0].rpc.get_product_stats(stats()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    let details = Details::decode(refused.details()).unwrap();
    assert_eq!(details.details[0].type_url, "type.googleapis.com/google.rpc.RetryInfo");
    let info = RetryInfo::decode(&details.details[0].value[..]).unwrap();
    assert!((1..=65).contains(&info.retry_delay.unwrap().seconds));
    assert!(refused.metadata().contains_key("grpc-retry-pushback-ms"));
    clients[0].create(a_product()).await;
    let metrics = server.admin().text("/metrics").await;
    assert!(metrics.contains("listings_rate_limit_enabled 1"), "{metrics}");
    assert!(
        metrics.contains("listings_rate_limit_rejected_total{method=\"GetProductStats\"} 1"),
        "{metrics}"
    );
}

#[tokio::test]
async fn a_forged_forwarded_header_does_not_bypass_the_rate_limit() {
    let table = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(table.path(), "GetListing = { per_minute = 5 }").unwrap();
    let table = table.path().display().to_string();
    let server = Server::start_with(&[ON, ("RATE_LIMIT_TABLE", &table)]).await;
    let trusting = Server::start_with(&[ON, ("RATE_LIMIT_TABLE", &table), ("TRUSTED_PROXIES", "1")]).await;
    for (server, expect) in [(&server, 5), (&trusting, 20)] {
        let mut client = server.client().await;
        let mut passed = 0;
        for number in 0..20 {
            let mut request = Request::new(GetListingRequest { id: 1, lang: None });
            request.metadata_mut().insert("x-forwarded-for", format!("1.2.3.{number}").parse().unwrap());
            let code = client.rpc.get_listing(request).await.unwrap_err().code();
            passed += i32::from(code == Code::NotFound);
        }
        assert_eq!(passed, expect);
    }
}

#[tokio::test]
async fn a_disabled_rate_limiter_is_reported_in_health_and_metrics() {
    let server = Server::start_with(&[("VONDILISTINGS_RATE_LIMIT_ENABLED", "false")]).await;
    let health = server.admin().text("/health").await;
    assert!(health.contains("\"rate_limit_enabled\":false"), "{health}");
    assert!(server.admin().text("/metrics").await.contains("listings_rate_limit_enabled 0"));
    let server = Server::start_with(&[ON]).await;
    assert!(server.admin().text("/health/deep").await.contains("\"rate_limit_enabled\":true"));
}
