//! `GET v1/challenges?active_only=true`

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::identity::Caller;
use super::{Api, json};
use crate::operations::{GoalsAt, Refusal};
use crate::view::GoalFilter;

pub(super) async fn handle(
    State(api): State<Arc<Api>>,
    RawQuery(query): RawQuery,
    Caller(place): Caller,
) -> Result<Response, Refusal> {
    let GoalsAt { goals, at } = api.operations.goals(place.caller()).await?;
    let filter = filter_of(query.as_deref().unwrap_or_default());
    let body = api.list.render(&api.operations.catalog, &goals, filter, at);
    Ok(json(Body::new(body)))
}

/// Only the exact text `true` has effect, under either spelling of the name.
fn filter_of(query: &str) -> GoalFilter {
    let is_set = |pair: &str| matches!(pair, "active_only=true" | "activeOnly=true");
    if query.split('&').any(is_set) { GoalFilter::Active } else { GoalFilter::All }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_only_has_effect_only_when_its_text_is_exactly_true() {
        for query in ["active_only=true", "activeOnly=true", "x=1&active_only=true"] {
            assert_eq!(filter_of(query), GoalFilter::Active, "{query}");
        }
        for query in ["", "active_only", "active_only=1", "active_only=TRUE", "active_only=false"] {
            assert_eq!(filter_of(query), GoalFilter::All, "{query}");
        }
    }
}
