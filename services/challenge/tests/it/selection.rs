//! Goals that players select, by name and at random, over both transports.

use std::collections::BTreeSet;

use challenge::proto::service as proto;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use tonic::Code;

use crate::rotation::rotating;
use crate::support::Player;

const GOALS: &str = "/challenge/v1/challenges/challenge-002/goals";

async fn select(player: &Player, kind: &str, body: &Value) -> (StatusCode, Value) {
    player.send(Method::POST, &format!("{GOALS}/{kind}-select"), &body.to_string()).await
}

fn ids(answer: &Value) -> Vec<&str> {
    answer["selectedGoals"].as_array().unwrap().iter().map(|goal| goal["goalId"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn named_goals_become_active_and_replace_the_others() {
    let server = rotating(&[]).await;
    let ann = server.player("ann");
    let names = json!({ "goalIds": ["goal-002-05", "goal-002-02", "goal-002-05"] });
    let (status, answer) = select(&ann, "batch", &names).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(ids(&answer), ["goal-002-05", "goal-002-02"]);
    assert_eq!(answer["challengeId"], "challenge-002");
    assert_eq!((&answer["totalActiveGoals"], &answer["replacedGoals"]), (&json!(3), &json!([])));
    let goal = &answer["selectedGoals"][0];
    assert_eq!(goal["reward"], json!({ "type": "ITEM", "rewardId": "rope", "quantity": 1 }));
    assert_eq!(
        (&goal["target"], &goal["isActive"], &goal["expiresAt"]),
        (&json!(100), &json!(true), &json!(""))
    );
    let snake_case = json!({ "goal_ids": ["goal-002-06"], "replace_existing": true });
    let (_, answer) = select(&ann, "batch", &snake_case).await;
    assert_eq!(answer["replacedGoals"], json!(["goal-002-01", "goal-002-02", "goal-002-05"]));
    assert_eq!(answer["totalActiveGoals"], 1);
    for (goal, is_active) in [("goal-002-06", true), ("goal-002-05", false), ("goal-001-01", true)] {
        assert_eq!(ann.goal(goal).await["isActive"], is_active, "{goal}");
    }
    assert_eq!(
        server.count("SELECT count(*) FROM user_goal_progress WHERE user_id = 'ann'"),
        9,
        "with the defaults"
    );
}

#[tokio::test]
async fn selections_that_the_rules_refuse_change_nothing_over_either_transport() {
    let server = rotating(&[]).await;
    let (ann, grpc) = (server.player("ann"), server.caller("ann").await);
    let mut publisher = server.publisher().await;
    ann.set_active("goal-002-05", r#"{"isActive":true}"#).await;
    ann.set_active("goal-002-06", r#"{"isActive":true}"#).await;
    publisher.update_statistic("ann", "metres_climbed", 100.0).await.unwrap();
    publisher.update_statistic("ann", "metres_swum", 100.0).await.unwrap();
    assert_eq!(ann.claim("goal-002-06").await.0, StatusCode::OK);
    for goal in ["goal-002-05", "goal-002-06"] {
        ann.set_active(goal, r#"{"isActive":false}"#).await;
    }
    let (_, before) = ann.get("/challenge/v1/challenges").await;
    let before = &before["challenges"][1];
    for (goals, status, error_code, code) in [
        (vec![], StatusCode::BAD_REQUEST, "INVALID_REQUEST", Code::InvalidArgument),
        (vec!["goal-001-01"], StatusCode::NOT_FOUND, "GOAL_NOT_FOUND", Code::NotFound),
        (vec![""], StatusCode::NOT_FOUND, "GOAL_NOT_FOUND", Code::NotFound),
        (
            vec!["goal-002-04", "goal-002-03"],
            StatusCode::BAD_REQUEST,
            "PREREQUISITES_NOT_MET",
            Code::FailedPrecondition,
        ),
        (
            vec!["goal-002-04", "goal-002-05"],
            StatusCode::BAD_REQUEST,
            "GOAL_ALREADY_COMPLETED",
            Code::FailedPrecondition,
        ),
        (vec!["goal-002-04", "goal-002-06"], StatusCode::CONFLICT, "ALREADY_CLAIMED", Code::AlreadyExists),
    ] {
        let (found, refused) =
            select(&ann, "batch", &json!({ "goalIds": goals, "replaceExisting": true })).await;
        assert_eq!((found, &refused["errorCode"]), (status, &json!(error_code)), "{goals:?}");
        let message = proto::BatchSelectRequest {
            challenge_id: "challenge-002".to_owned(),
            goal_ids: goals.iter().map(|goal| (*goal).to_owned()).collect(),
            replace_existing: true,
        };
        let status = grpc.client.clone().batch_select_goals(grpc.call(message)).await.unwrap_err();
        assert_eq!((status.code(), status.message()), (code, refused["message"].as_str().unwrap()));
    }
    for count in [0, -1] {
        let (status, refused) = select(&ann, "random", &json!({ "count": count })).await;
        assert_eq!((status, &refused["errorCode"]), (StatusCode::BAD_REQUEST, &json!("INVALID_REQUEST")));
    }
    for path in ["batch-select", "random-select"] {
        let path = format!("/challenge/v1/challenges/nowhere/goals/{path}");
        let (status, refused) = ann.send(Method::POST, &path, "{}").await;
        assert_eq!((status, &refused["errorCode"]), (StatusCode::NOT_FOUND, &json!("CHALLENGE_NOT_FOUND")));
    }
    assert_eq!(&ann.get("/challenge/v1/challenges").await.1["challenges"][1], before);
}

#[tokio::test]
async fn drawn_goals_can_be_selected_and_run_out() {
    let server = rotating(&[]).await;
    let ann = server.player("ann");
    // Of the six goals one is active by default, and one is locked.
    let (status, answer) = select(&ann, "random", &json!({ "count": 3, "excludeActive": true })).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let mut drawn: BTreeSet<String> = ids(&answer).into_iter().map(str::to_owned).collect();
    assert_eq!((drawn.len(), &answer["totalActiveGoals"]), (3, &json!(4)));
    let grpc = server.caller("ann").await;
    let draw = |count| proto::RandomSelectRequest {
        challenge_id: "challenge-002".to_owned(),
        count,
        exclude_active: true,
        replace_existing: false,
    };
    let rest = grpc.client.clone().random_select_goals(grpc.call(draw(3))).await.unwrap().into_inner();
    assert_eq!((rest.selected_goals.len(), rest.total_active_goals), (1, 5), "fewer than asked for");
    drawn.extend(rest.selected_goals.into_iter().map(|goal| goal.goal_id));
    let all = ["goal-002-02", "goal-002-04", "goal-002-05", "goal-002-06"].map(str::to_owned);
    assert_eq!(drawn, BTreeSet::from(all));
    let (status, refused) = select(&ann, "random", &json!({ "count": 1, "exclude_active": true })).await;
    assert_eq!((status, &refused["errorCode"]), (StatusCode::BAD_REQUEST, &json!("INSUFFICIENT_GOALS")));
    let refused = grpc.client.clone().random_select_goals(grpc.call(draw(1))).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
}

/// With a seed, each player's draws are the same in every process.
#[tokio::test]
async fn draws_with_a_seed_are_repeatable() {
    let mut drawn = Vec::new();
    for seed in ["7", "7", "8"] {
        let server = rotating(&[("SELECTION_SEED", seed)]).await;
        let mut of_players = Vec::new();
        for player in 0..20 {
            let player = server.player(&format!("player-{player}"));
            let (_, answer) =
                select(&player, "random", &json!({ "count": 2, "replaceExisting": true })).await;
            of_players.push(ids(&answer).join(" "));
        }
        drawn.push(of_players);
    }
    assert_eq!(drawn[0], drawn[1]);
    assert_ne!(drawn[0], drawn[2]);
    assert!(drawn[0].iter().collect::<BTreeSet<_>>().len() > 1, "players have different draws: {drawn:?}");
}

#[tokio::test]
async fn simultaneous_selections_of_one_player_leave_one_of_them() {
    let server = rotating(&[]).await;
    let goals = ["goal-002-02", "goal-002-04", "goal-002-05", "goal-002-06"];
    let selecting: Vec<_> = (0..40)
        .map(|number| {
            let ann = server.player("ann");
            let body = json!({ "goalIds": [goals[number % 4]], "replaceExisting": true });
            tokio::spawn(async move { select(&ann, "batch", &body).await })
        })
        .collect();
    for selected in selecting {
        let (status, answer) = selected.await.unwrap();
        assert_eq!((status, &answer["totalActiveGoals"]), (StatusCode::OK, &json!(1)));
    }
    let active = "SELECT count(*) FROM user_goal_progress WHERE goal_id LIKE 'goal-002-%' AND is_active";
    assert_eq!(server.count(active), 1);
}
