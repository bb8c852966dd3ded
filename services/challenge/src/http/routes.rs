//! Every route, and its access. The router is made of this list alone, so a route that is not in it does not exist, and
//! a route is for players unless it is marked public.

use std::sync::Arc;

use axum::http::Method;
use axum::routing::{MethodRouter, get, post, put};

use super::{Api, claim, document, healthz, initialize, list, rotation, select, set_active};

/// Which callers may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Every caller, without authentication and outside the limit for players: the response contains no player's data.
    Public,
    /// Authenticated callers, within the limit on concurrent requests.
    Player,
}

/// One route below the base path.
pub struct Route {
    /// Its name in the metrics.
    pub name: &'static str,
    /// The one method it takes.
    pub method: Method,
    /// The path, with its parameters in braces.
    pub path: &'static str,
    /// Which callers may call it.
    pub access: Access,
    pub(super) handler: MethodRouter<Arc<Api>>,
}

impl Route {
    fn player(
        name: &'static str,
        method: Method,
        path: &'static str,
        handler: MethodRouter<Arc<Api>>,
    ) -> Self {
        Self { name, method, path, access: Access::Player, handler }
    }

    fn public(self) -> Self {
        Self { access: Access::Public, ..self }
    }
}

#[must_use]
pub fn all() -> Vec<Route> {
    let goal_active = "/v1/challenges/{challenge_id}/goals/{goal_id}/active";
    let goal_claim = "/v1/challenges/{challenge_id}/goals/{goal_id}/claim";
    let batch_select = "/v1/challenges/{challenge_id}/goals/batch-select";
    let random_select = "/v1/challenges/{challenge_id}/goals/random-select";
    let rotation_path = "/v1/challenges/{challenge_id}/rotation";
    vec![
        Route::player("list", Method::GET, "/v1/challenges", get(list::handle)),
        Route::player("initialize", Method::POST, "/v1/challenges/initialize", post(initialize::handle)),
        Route::player("set_active", Method::PUT, goal_active, put(set_active::handle)),
        Route::player("claim", Method::POST, goal_claim, post(claim::handle)),
        Route::player("batch_select", Method::POST, batch_select, post(select::batch)),
        Route::player("random_select", Method::POST, random_select, post(select::random)),
        Route::player("rotation", Method::GET, rotation_path, get(rotation::handle)),
        Route::player("healthz", Method::GET, "/healthz", get(healthz)).public(),
        Route::player("document", Method::GET, "/openapi.json", get(document::document)).public(),
        Route::player("page", Method::GET, "/apidocs/", get(document::page)).public(),
    ]
}
