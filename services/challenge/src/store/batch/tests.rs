//! Claims whose row and record do not belong to the same period, or of which another program has removed the row.

use super::*;

use std::time::Duration;

use kit::limit::Limit;
use serde_json::json;
use tokio::sync::oneshot;

use crate::catalog::Schedule;
use crate::rules::ClaimRefusal;
use crate::store::claims::ClaimFailureKind;
use crate::store::command::Reply;

const MONDAY: UtcMs = UtcMs(1_795_435_200_000);
const TUESDAY: UtcMs = UtcMs(MONDAY.0 + 86_400_000);

/// One daily goal, which is granted once at all, or once in each period.
fn catalog(is_repeatable: bool) -> Catalog {
    let on_expiry = json!({ "resetProgress": true, "allowReselection": is_repeatable });
    let goal = json!({
        "goalId": "g", "name": "g", "eventSource": "login", "defaultAssigned": true,
        "requirement": { "statCode": "logins", "operator": ">=", "targetValue": 1 },
        "reward": { "type": "ITEM", "rewardId": "sword", "quantity": 1 },
        "rotation": { "enabled": true, "type": "global", "schedule": "daily", "onExpiry": on_expiry },
    });
    let file = json!({ "challenges": [{ "challengeId": "c", "name": "c", "goals": [goal] }] });
    Catalog::parse("test", &file.to_string()).unwrap()
}

fn ann() -> UserId {
    UserId::new("ann").unwrap()
}

/// The goal and the claims of one user, as a store has them.
#[derive(Default)]
struct Stored {
    goals: UserGoals,
    claims: HashMap<ClaimKey, StoredClaim>,
}

impl Stored {
    /// Runs one command in a group of its own, and commits.
    fn run(&mut self, catalog: &Catalog, command: Command, now: UtcMs) {
        let mut group = [command];
        let goals = LoadedGoals::Whole(self.goals.clone(), DefaultGoals::Unknown);
        let users = HashMap::from([(ann(), goals)]);
        let loaded = LoadedGroup { users, applied: HashSet::new(), claims: self.claims.clone() };
        let outcome = run(catalog, &mut group, loaded, now);
        for changed in outcome.changes.rows {
            *self.goals.row_or_new(changed.row.goal) = GoalRow { is_changed: false, ..changed.row };
        }
        for claim in outcome.changes.claims {
            self.claims.insert(claim.intent.key(), StoredClaim { is_changed: false, ..claim });
        }
        let [command] = group;
        command.succeed();
    }

    fn log_in(&mut self, catalog: &Catalog, now: UtcMs) {
        let event = rules::GoalEvent::Login { order: rules::EventOrder::default() };
        let event = rules::TriggeredEvent { trigger: catalog.login_trigger().unwrap(), event };
        let (reply, _outcome) = reply();
        let write = EventWrite { user: ann(), key: None, event };
        self.run(catalog, Command::Event(write, EventReply::WhenDurable(reply)), now);
    }

    fn begin(&mut self, catalog: &Catalog, now: UtcMs) -> ClaimStart {
        let (reply, outcome) = reply();
        let terms = ClaimTerms { namespace: "test".to_owned(), max_duration: Duration::from_secs(60) };
        let command = Command::BeginClaim { user: ann(), goal: GoalIndex(0), terms: terms.into(), reply };
        self.run(catalog, command, now);
        received(outcome)
    }

    fn begun(&mut self, catalog: &Catalog, now: UtcMs) -> ClaimIntent {
        match self.begin(catalog, now) {
            ClaimStart::Begun(intent) => intent,
            ClaimStart::Refused(refusal) => panic!("{refusal:?}"),
        }
    }

    fn end(&mut self, catalog: &Catalog, intent: &ClaimIntent, now: UtcMs) -> ClaimEnd {
        let (reply, outcome) = reply();
        self.run(catalog, Command::EndClaim(intent.clone(), reply), now);
        received(outcome)
    }

    fn leave(&mut self, catalog: &Catalog, intent: &ClaimIntent, kind: ClaimFailureKind, now: UtcMs) {
        let (reply, _outcome) = reply();
        let failure = ClaimFailure::new(kind, intent, Duration::from_secs(60), now);
        self.run(catalog, Command::LeaveClaim(intent.clone(), failure, reply), now);
    }

    /// Refuses the claim whenever it is due, until it ends; returns when.
    fn refuse_to_the_end(&mut self, catalog: &Catalog, intent: &ClaimIntent) -> UtcMs {
        for _attempt in 0..8 {
            let due = self.claims[&intent.key()].retry_at;
            self.leave(catalog, intent, ClaimFailureKind::Refused, due);
        }
        self.claims[&intent.key()].refused_at.unwrap()
    }
}

type Outcome<T> = oneshot::Receiver<Result<T, crate::store::StoreError>>;

fn reply<T>() -> (Reply<T>, Outcome<T>) {
    Reply::new(Limit::new(1).enter().unwrap())
}

fn received<T>(mut outcome: Outcome<T>) -> T {
    outcome.try_recv().unwrap().unwrap()
}

#[test]
fn a_reward_that_is_granted_once_is_not_claimed_again_while_a_claim_of_an_earlier_period_is_open() {
    let (catalog, mut stored) = (catalog(false), Stored::default());
    stored.log_in(&catalog, MONDAY);
    let open = stored.begun(&catalog, MONDAY);
    assert_eq!(open.period, Schedule::Daily.period(MONDAY).start.0);
    stored.log_in(&catalog, TUESDAY);
    assert_eq!(stored.begun(&catalog, TUESDAY), open, "the same key");
    assert_eq!(stored.end(&catalog, &open, TUESDAY), ClaimEnd::Claimed(TUESDAY));
    assert_eq!(stored.begin(&catalog, TUESDAY), ClaimStart::Refused(ClaimRefusal::AlreadyClaimed));
    assert_eq!(stored.claims.len(), 1);
}

#[test]
fn a_reward_of_each_period_has_a_claim_of_its_own_in_each() {
    let (catalog, mut stored) = (catalog(true), Stored::default());
    stored.log_in(&catalog, MONDAY);
    let open = stored.begun(&catalog, MONDAY);
    stored.log_in(&catalog, TUESDAY);
    let next = stored.begun(&catalog, TUESDAY);
    assert_ne!(next.grant.idempotency_key, open.grant.idempotency_key);
    assert_eq!(stored.end(&catalog, &open, TUESDAY), ClaimEnd::Claimed(TUESDAY));
    assert_eq!(stored.goals.row(GoalIndex(0)).unwrap().claimed_at, None, "the row is of the next period");
    assert_eq!(stored.end(&catalog, &next, TUESDAY), ClaimEnd::Claimed(TUESDAY));
    assert_eq!(stored.begin(&catalog, TUESDAY), ClaimStart::Refused(ClaimRefusal::AlreadyClaimed));
    assert_eq!(stored.end(&catalog, &open, TUESDAY), ClaimEnd::AlreadyClaimed);
}

#[test]
fn a_row_that_was_removed_begins_a_claim_with_a_key_of_its_own() {
    let (catalog, mut stored) = (catalog(true), Stored::default());
    let mut keys = HashSet::new();
    let mut first = None;
    for _round in 0..3 {
        stored.log_in(&catalog, MONDAY);
        let intent = stored.begun(&catalog, MONDAY);
        assert_eq!(stored.begun(&catalog, MONDAY), intent, "the same key for every attempt");
        if let Some(first) = &first {
            assert_eq!(stored.end(&catalog, first, MONDAY), ClaimEnd::AlreadyClaimed, "an earlier claim");
        }
        assert_eq!(stored.end(&catalog, &intent, MONDAY), ClaimEnd::Claimed(MONDAY));
        assert!(keys.insert(intent.grant.idempotency_key.clone()));
        first.get_or_insert(intent);
        stored.goals = UserGoals::default();
    }
}

#[test]
fn a_row_that_is_removed_during_a_claim_stays_removed() {
    let (catalog, mut stored) = (catalog(true), Stored::default());
    stored.log_in(&catalog, MONDAY);
    let intent = stored.begun(&catalog, MONDAY);
    stored.goals = UserGoals::default();
    assert_eq!(stored.end(&catalog, &intent, MONDAY), ClaimEnd::Claimed(MONDAY));
    assert_eq!(stored.goals, UserGoals::default());
}

/// The goal rotates after the claim of its period ended without a grant: the player's next claim is that one, and open.
#[test]
fn a_claim_of_an_earlier_period_that_was_refused_to_the_end_is_open_once_it_is_claimed_again() {
    let (catalog, mut stored) = (catalog(false), Stored::default());
    stored.log_in(&catalog, MONDAY);
    let intent = stored.begun(&catalog, MONDAY);
    assert!(stored.refuse_to_the_end(&catalog, &intent) < TUESDAY);
    stored.log_in(&catalog, TUESDAY);
    assert_eq!(stored.begun(&catalog, TUESDAY), intent, "the same key");
    let open = &stored.claims[&intent.key()];
    let retry_at = UtcMs(TUESDAY.0 + 60_000);
    assert_eq!((open.refused_at, open.refusals, open.retry_at), (None, 0, retry_at));
}

/// Two replicas tried it at once: one was refused for the last time, the other may have been granted the reward.
#[test]
fn an_attempt_without_an_answer_keeps_a_claim_open_after_its_last_refusal() {
    let (catalog, mut stored) = (catalog(true), Stored::default());
    stored.log_in(&catalog, MONDAY);
    let intent = stored.begun(&catalog, MONDAY);
    let ended_at = stored.refuse_to_the_end(&catalog, &intent);
    stored.leave(&catalog, &intent, ClaimFailureKind::Unanswered, ended_at);
    assert_eq!(stored.claims[&intent.key()].refused_at, None);
}
