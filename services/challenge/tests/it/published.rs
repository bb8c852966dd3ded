//! The published interface of challenge services of this kind, compared with ours field by field: names, numbers, types,
//! routes. What is left out or differs on purpose is listed in `docs/challenge.md`.

use std::collections::BTreeSet;

use challenge::http::routes;
use challenge::proto::{EVENTS, PLAYERS};
use prost_reflect::{DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};
use testkit::documents::assert_says;

/// Message: fields with their types and numbers.
const MESSAGES: &str = "
service.GetChallengesRequest: bool active_only 1
service.GetChallengesResponse: repeated Challenge challenges 1
service.Challenge: string challenge_id 1, string name 2, string description 3, repeated Goal goals 4
service.Goal: string goal_id 1, string name 2, string description 3, Requirement requirement 4, Reward reward 5, \
    repeated string prerequisites 6, int32 progress 7, string status 8, bool locked 9, string completed_at 10, \
    string claimed_at 11, bool is_active 12, string expires_at 13, int32 expires_in_seconds 14
service.Requirement: string stat_code 1, string operator 2, int32 target_value 3
service.Reward: string type 1, string reward_id 2, int32 quantity 3
service.InitializeRequest:
service.InitializeResponse: repeated AssignedGoal assigned_goals 1, int32 new_assignments 2, int32 total_active 3
service.AssignedGoal: string challenge_id 1, string goal_id 2, string name 3, string description 4, bool is_active 5, \
    string assigned_at 6, string expires_at 7, int32 progress 8, int32 target 9, string status 10, \
    Requirement requirement 11, Reward reward 12
service.SetGoalActiveRequest: string challenge_id 1, string goal_id 2, bool is_active 3
service.SetGoalActiveResponse: string challenge_id 1, string goal_id 2, bool is_active 3, string assigned_at 4, \
    string message 5
service.ClaimRewardRequest: string challenge_id 1, string goal_id 2
service.ClaimRewardResponse: string goal_id 1, string status 2, Reward reward 3, string claimed_at 4
service.BatchSelectRequest: string challenge_id 1, repeated string goal_ids 2, bool replace_existing 3
service.RandomSelectRequest: string challenge_id 1, int32 count 2, bool replace_existing 3, bool exclude_active 4
service.GoalSelectionResponse: repeated SelectedGoal selected_goals 1, string challenge_id 2, \
    int32 total_active_goals 3, repeated string replaced_goals 4
service.SelectedGoal: string goal_id 1, string name 2, string description 3, Requirement requirement 4, \
    Reward reward 5, string status 6, int32 progress 7, int32 target 8, bool is_active 9, string assigned_at 10, \
    string expires_at 11
service.GetRotationStatusRequest: string challenge_id 1
service.GetRotationStatusResponse: string challenge_id 1, RotationInfo rotation 2
service.RotationInfo: bool enabled 1, string type 2, string schedule 3, RotationPeriod current_period 4, \
    RotationPeriod next_period 5
service.RotationPeriod: string start_time 1, string end_time 2, int32 expires_in_seconds 3
service.HealthCheckRequest:
service.HealthCheckResponse: string status 1
accelbyte.iam.account.v1.UserLoggedIn: AnonymousSchema19 payload 1, string id 2, int64 version 3, string name 4, \
    string namespace 5, string parent_namespace 6, string timestamp 7, string client_id 8, string user_id 9, \
    string trace_id 10, string session_id 11
accelbyte.iam.account.v1.AnonymousSchema19: UserAccount user_account 1, UserAuthentication user_authentication 2
accelbyte.iam.account.v1.UserAccount: string user_id 1, string email_address 2, string user_name 3, \
    string country 4, string namespace 5, string platform_id 6, string display_name 7
accelbyte.iam.account.v1.UserAuthentication: string platform_id 1, bool refresh 2, string platform_user_id 3, \
    string simultaneous_platform_id 4, string simultaneous_platform_user_id 5
accelbyte.social.statistic.v1.StatItemUpdated: StatItem payload 1, string id 2, int64 version 3, string name 4, \
    string namespace 5, string parent_namespace 6, string timestamp 7, string client_id 8, string user_id 9, \
    string session_id 10
accelbyte.social.statistic.v1.StatItem: string namespace 1, string stat_code 2, string user_id 3, \
    double latest_value 4, double inc 5, Struct additional_data 6, bool ignore_additional_data_on_value_rejected 7, \
    double default_value 8, double request_value 9, string update_strategy 10
";

/// Rpc, with its messages and its route below the base path; events have none.
const RPCS: &str = "
service.Service/GetUserChallenges GetChallengesRequest GetChallengesResponse GET /v1/challenges
service.Service/InitializePlayer InitializeRequest InitializeResponse POST /v1/challenges/initialize
service.Service/SetGoalActive SetGoalActiveRequest SetGoalActiveResponse PUT \
    /v1/challenges/{challenge_id}/goals/{goal_id}/active
service.Service/ClaimGoalReward ClaimRewardRequest ClaimRewardResponse POST \
    /v1/challenges/{challenge_id}/goals/{goal_id}/claim
service.Service/BatchSelectGoals BatchSelectRequest GoalSelectionResponse POST \
    /v1/challenges/{challenge_id}/goals/batch-select
service.Service/RandomSelectGoals RandomSelectRequest GoalSelectionResponse POST \
    /v1/challenges/{challenge_id}/goals/random-select
service.Service/GetRotationStatus GetRotationStatusRequest GetRotationStatusResponse GET \
    /v1/challenges/{challenge_id}/rotation
service.Service/HealthCheck HealthCheckRequest HealthCheckResponse GET /healthz
accelbyte.iam.account.v1.UserAuthenticationUserLoggedInService/OnMessage UserLoggedIn Empty
accelbyte.social.statistic.v1.StatisticStatItemUpdatedService/OnMessage StatItemUpdated Empty
";

/// What the published interface has and ours has not: the extensions of method options for permissions, which no
/// published rpc sets.
const LEFT_OUT: [&str; 1] = ["the method options for permissions (50001, 50002)"];

/// What ours does otherwise, where the published implementation contradicts its specification or itself.
const DIFFERENT: [&str; 7] = [
    "Refusals over HTTP are always JSON",
    "An unknown goal is 404 for every operation",
    "A reward that could not be granted is 502",
    "`healthz` needs no token",
    "`active_only` hides goals",
    "A selection refuses goals that are locked, completed or claimed",
    "`currentPeriod` and `nextPeriod` are always objects",
];

fn pools() -> [DescriptorPool; 2] {
    [PLAYERS, EVENTS].map(|descriptors| DescriptorPool::decode(descriptors).unwrap())
}

fn is_ours(message: &MessageDescriptor) -> bool {
    !message.full_name().starts_with("google.") && !message.is_map_entry()
}

fn described(field: &FieldDescriptor) -> String {
    let kind = match field.kind() {
        Kind::Message(message) => message.name().to_owned(),
        scalar => format!("{scalar:?}").to_lowercase(),
    };
    let repeated = if field.is_list() { "repeated " } else { "" };
    format!("{repeated}{kind} {} {}", field.name(), field.number())
}

#[test]
fn every_published_field_has_its_name_number_and_type() {
    let lines = MESSAGES.lines().filter(|line| !line.is_empty());
    let published: BTreeSet<String> = lines
        .flat_map(|line| {
            let (message, fields) = line.split_once(':').unwrap();
            let fields = fields.split(',').map(str::trim).filter(|field| !field.is_empty());
            let each = fields.map(move |field| format!("{message}: {field}"));
            each.chain([message.to_owned()]).collect::<Vec<_>>()
        })
        .collect();
    let pools = pools();
    let messages = pools.iter().flat_map(DescriptorPool::all_messages).filter(is_ours);
    let ours: BTreeSet<String> = messages
        .flat_map(|message| {
            let name = message.full_name().to_owned();
            let fields = message.fields().map(|field| format!("{name}: {}", described(&field)));
            fields.chain([name.clone()]).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(published.difference(&ours).collect::<Vec<_>>(), [""; 0], "missing in ours");
    assert_eq!(ours.difference(&published).collect::<Vec<_>>(), [""; 0], "only in ours");
    assert!(published.len() > 150, "{}", published.len());
}

#[test]
fn every_published_rpc_has_its_messages_and_its_route() {
    let published: BTreeSet<Vec<&str>> =
        RPCS.lines().filter(|line| !line.is_empty()).map(|line| line.split(' ').collect()).collect();
    let routes: BTreeSet<String> =
        routes::all().iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    for rpc in &published {
        if let [_, _, _, method, path] = rpc[..] {
            assert!(routes.contains(&format!("{method} {path}")), "{method} {path}");
        }
    }
    let pools = pools();
    let services = pools.iter().flat_map(DescriptorPool::services);
    let ours: BTreeSet<String> = services
        .flat_map(|service| {
            let of_method = |method: prost_reflect::MethodDescriptor| {
                assert!(!method.is_client_streaming() && !method.is_server_streaming(), "{method:?}");
                let (input, output) = (method.input(), method.output());
                format!("{}/{} {} {}", service.full_name(), method.name(), input.name(), output.name())
            };
            service.methods().map(of_method).collect::<Vec<_>>()
        })
        .collect();
    let published: BTreeSet<String> = published.iter().map(|rpc| rpc[..3].join(" ")).collect();
    assert_eq!(ours, published);
}

/// Responses are camelCase: the JSON names of the fields.
#[test]
fn the_json_name_of_each_field_is_its_name_in_camel_case() {
    for message in pools().iter().flat_map(DescriptorPool::all_messages).filter(is_ours) {
        for field in message.fields() {
            let mut words = field.name().split('_');
            let mut expected = words.next().unwrap().to_owned();
            for word in words {
                expected += &word[..1].to_uppercase();
                expected += &word[1..];
            }
            assert_eq!(field.json_name(), expected, "{}", field.full_name());
        }
    }
}

#[test]
fn what_is_left_out_or_differs_is_documented() {
    assert_says(include_str!("../../../../docs/challenge.md"), LEFT_OUT.into_iter().chain(DIFFERENT));
}
