//! gRPC messages equal the JSON responses: each message, converted by proto3's own JSON mapping, equals the text of the
//! HTTP response, for any rows of a user.

use std::sync::OnceLock;

use proptest::prelude::*;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde_json::Value;

use super::messages;
use crate::proto::PLAYERS;
use crate::proto::service as proto;
use crate::render::tests::{NOW, a_row, catalog};
use crate::render::{InitializeTemplate, ListTemplate};
use crate::rules::UserGoals;
use crate::store::Initialized;
use crate::view::{GoalFilter, assigned};

/// The message in proto3's JSON mapping, with zero values.
fn to_json(name: &str, message: &impl Message) -> Value {
    static POOL: OnceLock<DescriptorPool> = OnceLock::new();
    let pool = POOL.get_or_init(|| DescriptorPool::decode(PLAYERS).unwrap());
    let descriptor = pool.get_message_by_name(&format!("service.{name}")).unwrap();
    let message = DynamicMessage::decode(descriptor, &message.encode_to_vec()[..]).unwrap();
    let emit_zeros = SerializeOptions::new().skip_default_fields(false);
    message.serialize_with_options(serde_json::value::Serializer, &emit_zeros).unwrap()
}

proptest! {
    #[test]
    fn a_list_is_the_same_in_both_transports(rows in prop::collection::vec(a_row(), 0..60)) {
        let (catalog, user) = (catalog(), UserGoals::new(rows));
        for filter in [GoalFilter::All, GoalFilter::Active] {
            let text = ListTemplate::new(catalog).render(catalog, &user, filter, NOW).into_bytes();
            let challenges = messages::challenges(catalog, &user, filter, NOW);
            let message = to_json("GetChallengesResponse", &proto::GetChallengesResponse { challenges });
            prop_assert_eq!(message, serde_json::from_slice::<Value>(&text).unwrap());
        }
    }

    #[test]
    fn an_initialize_response_is_the_same_in_both_transports(
        rows in prop::collection::vec(a_row(), 0..60), new_assignments in 0..500u32,
    ) {
        let done = Initialized { new_assignments, goals: UserGoals::new(rows), at: NOW };
        let text = InitializeTemplate::new(catalog()).render(catalog(), &done);
        let message = super::initialize::message(assigned(catalog(), &done), done.new_assignments);
        let message = to_json("InitializeResponse", &message);
        prop_assert_eq!(message, serde_json::from_str::<Value>(&text).unwrap());
    }
}
