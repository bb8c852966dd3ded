//! The players' API over gRPC, and its equality with the API over HTTP.

use challenge::proto::PLAYERS;
use challenge::proto::service as proto;
use hyper::StatusCode;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde_json::{Value, json};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::{v1, v1alpha};

use testkit::grpc::connect;
use testkit::issuer::{KeyServer, Signer, claims};

use crate::support::{Caller, Server};

const LIST: &str = "/challenge/v1/challenges";
const LOGIN_GOAL: &str = "goal-010-01";

/// The message in proto3's JSON mapping, with zero values.
fn to_json(name: &str, message: &impl Message) -> Value {
    let pool = DescriptorPool::decode(PLAYERS).unwrap();
    let descriptor = pool.get_message_by_name(&format!("service.{name}")).unwrap();
    let message = DynamicMessage::decode(descriptor, &message.encode_to_vec()[..]).unwrap();
    let emit_zeros = SerializeOptions::new().skip_default_fields(false);
    message.serialize_with_options(serde_json::value::Serializer, &emit_zeros).unwrap()
}

/// `challenge-001` for `goal-001-02`.
fn challenge_of(goal_id: &str) -> String {
    format!("challenge-{}", &goal_id[5..8])
}

async fn set_active(caller: &Caller, goal_id: &str, is_active: bool) -> Result<Value, Status> {
    let (challenge_id, goal_id) = (challenge_of(goal_id), goal_id.to_owned());
    let message = proto::SetGoalActiveRequest { challenge_id, goal_id, is_active };
    let answer = caller.client.clone().set_goal_active(caller.call(message)).await?;
    Ok(to_json("SetGoalActiveResponse", answer.get_ref()))
}

async fn claim(caller: &Caller, goal_id: &str) -> Result<Value, Status> {
    let message =
        proto::ClaimRewardRequest { challenge_id: challenge_of(goal_id), goal_id: goal_id.to_owned() };
    let answer = caller.client.clone().claim_goal_reward(caller.call(message)).await?;
    Ok(to_json("ClaimRewardResponse", answer.get_ref()))
}

async fn initialize(caller: &Caller) -> Result<Value, Status> {
    let answer = caller.client.clone().initialize_player(caller.call(proto::InitializeRequest {})).await?;
    Ok(to_json("InitializeResponse", answer.get_ref()))
}

async fn list(caller: &Caller, active_only: bool) -> Result<Value, Status> {
    let message = proto::GetChallengesRequest { active_only };
    let answer = caller.client.clone().get_user_challenges(caller.call(message)).await?;
    Ok(to_json("GetChallengesResponse", answer.get_ref()))
}

/// One user's states one after another, each read over both transports.
#[tokio::test]
async fn every_state_is_the_same_over_both_transports() {
    let server = Server::start().await;
    let (http, grpc) = (server.player("ann"), server.caller("ann").await);
    let mut publisher = server.publisher().await;
    for step in 0..9 {
        match step {
            0 => {}
            1 => drop(http.initialize().await),
            2 => publisher.update_statistic("ann", "enemy_kills", 3.0).await.unwrap(),
            3 => publisher.log_in("ann", "1").await.unwrap(),
            4 => drop(claim(&grpc, LOGIN_GOAL).await.unwrap()),
            5 => drop(set_active(&grpc, "goal-001-05", true).await.unwrap()),
            6 => drop(set_active(&grpc, "goal-001-01", false).await.unwrap()),
            7 => drop(http.set_active("goal-001-04", r#"{"isActive":true}"#).await),
            _ => publisher.update_statistic("ann", "damage_dealt", 4_000.0).await.unwrap(),
        }
        for (active_only, query) in [(false, ""), (true, "?active_only=true")] {
            let (_, seen) = http.get(&format!("{LIST}{query}")).await;
            assert_eq!(list(&grpc, active_only).await.unwrap(), seen, "after step {step}{query}");
        }
        if step > 0 {
            assert_eq!(initialize(&grpc).await.unwrap(), http.initialize().await, "after step {step}");
        }
    }
    let (_, again) = http.set_active("goal-001-04", r#"{"isActive":true}"#).await;
    assert_eq!(set_active(&grpc, "goal-001-04", true).await.unwrap(), again);
    let goal = http.goal("goal-001-05").await;
    assert_eq!((&goal["locked"], &goal["isActive"]), (&json!(false), &json!(true)), "{goal}");
}

#[tokio::test]
async fn a_claim_has_the_same_response_over_both_transports_and_grants_once() {
    let server = Server::start().await;
    let mut publisher = server.publisher().await;
    for user in ["ann", "bob"] {
        publisher.log_in(user, "1").await.unwrap();
    }
    let mut over_grpc = claim(&server.caller("ann").await, LOGIN_GOAL).await.unwrap();
    let (_, mut over_http) = server.player("bob").claim(LOGIN_GOAL).await;
    for answer in [&mut over_grpc, &mut over_http] {
        let at = answer["claimedAt"].take();
        assert!(at.as_str().unwrap().ends_with('Z'), "{at}");
    }
    assert_eq!(over_grpc, over_http);
    assert_eq!(server.player("ann").claim(LOGIN_GOAL).await.0, StatusCode::CONFLICT);
    assert_eq!(server.count("SELECT count(*) FROM reward_ledger"), 2);
}

/// The refusal over gRPC must have the code, error code and message of the one over HTTP.
fn check_refusal(refused: Result<Value, Status>, http_answer: (StatusCode, Value)) {
    let (refused, over_http) = (refused.unwrap_err(), http_answer.1);
    let error_code = refused.metadata().get("error-code").map(|code| code.to_str().unwrap());
    assert_eq!(error_code, over_http["errorCode"].as_str(), "{refused:?} {over_http}");
    assert_eq!(json!(refused.code() as i32), over_http["code"], "{refused:?} {over_http}");
    assert_eq!(Some(refused.message()), over_http["message"].as_str());
}

#[tokio::test]
async fn every_refusal_is_the_same_over_both_transports() {
    let server = Server::start().await;
    let (http, grpc) = (server.player("ann"), server.caller("ann").await);
    http.set_active("goal-001-05", r#"{"isActive":true}"#).await;
    let mut publisher = server.publisher().await;
    publisher.update_statistic("ann", "items_crafted", 50.0).await.unwrap();
    publisher.log_in("ann", "1").await.unwrap();
    claim(&grpc, LOGIN_GOAL).await.unwrap();
    for goal in ["goal-001-02", "goal-001-01", "goal-001-05", LOGIN_GOAL, "goal-999-01", "goal-001-99"] {
        check_refusal(claim(&grpc, goal).await, http.claim(goal).await);
    }
    for goal in ["goal-999-01", "goal-001-99"] {
        check_refusal(
            set_active(&grpc, goal, true).await,
            http.set_active(goal, r#"{"isActive":true}"#).await,
        );
    }
    let (anonymous, anonymous_grpc) = (server.player(""), server.caller("").await);
    check_refusal(list(&anonymous_grpc, false).await, anonymous.get(LIST).await);
    check_refusal(claim(&anonymous_grpc, LOGIN_GOAL).await, anonymous.claim(LOGIN_GOAL).await);
    server.database.run("ALTER TABLE user_goal_progress RENAME TO away");
    check_refusal(list(&grpc, false).await, http.get(LIST).await);
    check_refusal(claim(&grpc, LOGIN_GOAL).await, http.claim(LOGIN_GOAL).await);
}

#[tokio::test]
async fn a_bearer_token_in_the_metadata_names_its_subject_too() {
    let signer = Signer::ec("e");
    let keys = KeyServer::start(&[&signer]).await;
    let server = Server::start_with(&crate::publishers::settings(&keys)).await;
    crate::publishers::log_in(&server, &signer.token(&claims("publisher")), "ann").await;
    let anonymous = server.caller("").await;
    let claim_with = |token: Option<String>| {
        let (challenge_id, goal_id) = (challenge_of(LOGIN_GOAL), LOGIN_GOAL.to_owned());
        let mut call = anonymous.call(proto::ClaimRewardRequest { challenge_id, goal_id });
        if let Some(token) = token {
            call.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        call
    };
    let bobs = signer.token(&claims("bob"));
    for (token, code) in [
        (None, Code::Unauthenticated),
        (Some("x.y.z".to_owned()), Code::Unauthenticated),
        (Some(bobs), Code::FailedPrecondition),
    ] {
        let refused = anonymous.client.clone().claim_goal_reward(claim_with(token)).await.unwrap_err();
        assert_eq!(refused.code(), code, "{refused:?}");
    }
    let anns = signer.token(&claims("ann"));
    anonymous.client.clone().claim_goal_reward(claim_with(Some(anns))).await.unwrap();
    assert_eq!(server.count("SELECT count(*) FROM reward_ledger WHERE user_id = 'ann'"), 1);
}

/// A limit of one request for both transports: a request over one blocks requests over the other.
#[tokio::test]
async fn both_transports_share_one_limit() {
    let server = Server::start_with(&[("HTTP_MAX_IN_FLIGHT", "1"), ("COMMIT_LINGER_MS", "50")]).await;
    let grpc = server.caller("ann").await;
    let over_http: Vec<_> = (0..10)
        .map(|_| server.player("ann"))
        .map(|ann| tokio::spawn(async move { ann.set_active("goal-001-09", "{}").await.0 }))
        .collect();
    let over_grpc: Vec<_> = (0..10)
        .map(|_| grpc.clone())
        .map(|grpc| tokio::spawn(async move { set_active(&grpc, "goal-001-08", true).await }))
        .collect();
    let (mut done, mut refused) = (0, 0);
    for call in over_http {
        match call.await.unwrap() {
            StatusCode::OK => done += 1,
            status => {
                assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
                refused += 1;
            }
        }
    }
    for call in over_grpc {
        match call.await.unwrap() {
            Ok(_) => done += 1,
            Err(status) => {
                assert_eq!(status.code(), Code::ResourceExhausted);
                refused += 1;
            }
        }
    }
    assert!(done > 0 && refused > 0, "{done} done, {refused} refused");
}

#[tokio::test]
async fn health_needs_no_identity_and_reports_the_service_by_name() {
    let server = Server::start().await;
    let anonymous = server.caller("").await;
    let healthy = anonymous.client.clone().health_check(proto::HealthCheckRequest {}).await.unwrap();
    assert_eq!(healthy.get_ref().status, "healthy");
    let mut health = HealthClient::new(connect(server.running.addresses.grpc.unwrap()).await);
    for (service, expect) in [("", Ok(1)), ("service.Service", Ok(1)), ("service.Other", Err(Code::NotFound))]
    {
        let answer = health.check(HealthCheckRequest { service: service.to_owned() }).await;
        assert_eq!(answer.map(|a| a.get_ref().status).map_err(|e| e.code()), expect, "{service:?}");
    }
}

/// With an hour to drain, a watch that stayed open would block this test.
#[tokio::test]
async fn a_client_that_watches_the_health_learns_of_the_drain_and_does_not_hold_it_up() {
    let server = Server::start_with(&[("DRAIN_TIMEOUT_S", "3600")]).await;
    let mut health = HealthClient::new(connect(server.running.addresses.grpc.unwrap()).await);
    let mut watched = health.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    let mut status = async || watched.message().await.map(|answer| answer.unwrap().status());
    assert_eq!(status().await.unwrap(), ServingStatus::Serving);
    server.stop().await;
    assert_eq!(status().await.unwrap(), ServingStatus::NotServing);
    assert_eq!(status().await.unwrap_err().code(), Code::Unavailable);
}

/// The two versions have separate message types, so a macro defines the exchange once for both.
macro_rules! services_shown {
    ($version:ident, $address:expr) => {{
        use $version::server_reflection_client::ServerReflectionClient;
        use $version::server_reflection_request::MessageRequest;
        use $version::server_reflection_response::MessageResponse;
        let request = $version::ServerReflectionRequest {
            host: String::new(),
            message_request: Some(MessageRequest::ListServices(String::new())),
        };
        let mut client = ServerReflectionClient::new(connect($address).await);
        let stream =
            client.server_reflection_info(tonic::codegen::tokio_stream::once(request)).await.unwrap();
        let answer = stream.into_inner().message().await.unwrap().unwrap();
        let Some(MessageResponse::ListServicesResponse(list)) = answer.message_response else {
            panic!("{answer:?}")
        };
        list.service.into_iter().map(|service| service.name).collect::<Vec<String>>()
    }};
}

#[tokio::test]
async fn reflection_lists_the_services_of_each_port() {
    let server = Server::start().await;
    let addresses = server.running.addresses;
    for (address, ours) in [
        (addresses.grpc.unwrap(), vec!["service.Service"]),
        (
            addresses.events.unwrap(),
            vec![
                "accelbyte.iam.account.v1.UserAuthenticationUserLoggedInService",
                "accelbyte.social.statistic.v1.StatisticStatItemUpdatedService",
            ],
        ),
    ] {
        for shown in [services_shown!(v1, address), services_shown!(v1alpha, address)] {
            let mut shown: Vec<&str> =
                shown.iter().map(String::as_str).filter(|name| !name.starts_with("grpc.")).collect();
            shown.sort_unstable();
            assert_eq!(shown, ours);
        }
    }
}

#[tokio::test]
async fn each_rpc_is_counted_by_its_outcome() {
    let server = Server::start().await;
    let grpc = server.caller("ann").await;
    initialize(&grpc).await.unwrap();
    claim(&grpc, "goal-001-01").await.unwrap_err();
    let metrics = server.metrics().await;
    for line in [
        r#"challenge_requests_total{endpoint="grpc_initialize",outcome="ok"} 1"#,
        r#"challenge_requests_total{endpoint="grpc_claim",outcome="failed_precondition"} 1"#,
        r#"challenge_request_seconds_count{endpoint="grpc_initialize"} 1"#,
        "challenge_in_flight 0",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
}

#[tokio::test]
async fn calls_are_counted_under_the_customary_names_by_code() {
    let server = Server::start().await;
    let mut ann = server.caller("ann").await;
    ann.client.initialize_player(ann.call(proto::InitializeRequest {})).await.unwrap();
    let mut stranger = server.caller("").await;
    stranger.client.initialize_player(stranger.call(proto::InitializeRequest {})).await.unwrap_err();
    server.publisher().await.log_in("ann", "1").await.unwrap();
    let metrics = server.metrics().await;
    let method = r#"grpc_type="unary",grpc_service="service.Service",grpc_method="InitializePlayer""#;
    let event = r#"grpc_service="accelbyte.iam.account.v1.UserAuthenticationUserLoggedInService",grpc_method="OnMessage""#;
    for line in [
        format!("grpc_server_started_total{{{method}}} 2"),
        format!(r#"grpc_server_handled_total{{{method},grpc_code="OK"}} 1"#),
        format!(r#"grpc_server_handled_total{{{method},grpc_code="Unauthenticated"}} 1"#),
        format!("grpc_server_msg_received_total{{{method}}} 2"),
        format!("grpc_server_msg_sent_total{{{method}}} 1"),
        format!("grpc_server_handling_seconds_count{{{method}}} 2"),
        format!(r#"grpc_server_handled_total{{grpc_type="unary",{event},grpc_code="OK"}} 1"#),
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in {metrics}");
    }
}
