//! The metrics by which libraries and runtimes show their pools and pauses.

use workload::observation::{Pool, PoolSize};

/// What shows a pool. A name that is empty is not there.
#[derive(Debug, Clone, Copy)]
pub(super) struct PoolMetrics<'a> {
    /// The pool's name in a report.
    pub(super) name: &'a str,
    pub(super) in_use: &'a str,
    /// The seconds that it was held, added up, as a counter: more to the point than looks at what is in use.
    pub(super) held: &'a str,
    pub(super) limit: &'a str,
    /// The seconds that were waited for it, as a counter.
    pub(super) waited: &'a str,
    /// How many wait for it.
    pub(super) waiting: &'a str,
}

impl<'a> PoolMetrics<'a> {
    /// Those that a plan names.
    pub(super) fn of(pool: &'a Pool) -> PoolMetrics<'a> {
        let name = |name: &'a Option<String>| name.as_deref().unwrap_or_default();
        PoolMetrics {
            name: &pool.name,
            in_use: name(&pool.in_use),
            held: name(&pool.held),
            limit: match &pool.size {
                PoolSize::Metric(name) => name,
                PoolSize::Of(_) => "",
            },
            waited: name(&pool.waited),
            waiting: name(&pool.waiting),
        }
    }
}

/// By library; what follows the convention of suffixes is found without them.
pub(super) const POOLS: [PoolMetrics<'static>; 6] = [
    // Go's database/sql, by the collector of client_golang.
    PoolMetrics {
        name: "database pool",
        in_use: "go_sql_in_use_connections",
        held: "",
        limit: "go_sql_max_open_connections",
        waited: "go_sql_wait_duration_seconds_total",
        waiting: "",
    },
    // HikariCP, by Micrometer: an acquired connection was waited for.
    PoolMetrics {
        name: "HikariCP pool",
        in_use: "hikaricp_connections_active",
        held: "hikaricp_connections_usage_seconds_sum",
        limit: "hikaricp_connections_max",
        waited: "hikaricp_connections_acquire_seconds_sum",
        waiting: "hikaricp_connections_pending",
    },
    // PgBouncer, by the exporter of the Prometheus community.
    PoolMetrics {
        name: "PgBouncer pool",
        in_use: "pgbouncer_pools_server_active_connections",
        held: "",
        limit: "pgbouncer_databases_pool_size",
        waited: "pgbouncer_stats_totals_client_wait_time_seconds_total",
        waiting: "pgbouncer_pools_client_waiting_connections",
    },
    // Tomcat's and Jetty's threads, by Micrometer.
    PoolMetrics {
        name: "Tomcat threads",
        in_use: "tomcat_threads_busy_threads",
        held: "",
        limit: "tomcat_threads_config_max_threads",
        waited: "",
        waiting: "",
    },
    PoolMetrics {
        name: "Jetty threads",
        in_use: "jetty_threads_busy",
        held: "",
        limit: "jetty_threads_config_max",
        waited: "",
        waiting: "jetty_threads_jobs",
    },
    // OpenTelemetry's conventions for database clients.
    PoolMetrics {
        name: "database pool",
        in_use: "db_client_connections_usage",
        held: "db_client_connections_use_time_seconds_sum",
        limit: "db_client_connections_max",
        waited: "db_client_connections_wait_time_seconds_sum",
        waiting: "db_client_connections_pending_requests",
    },
];

/// Seconds a second in which a collector stops the program: Go, the JVM by Micrometer and by client_java, .NET, Node.js.
pub(super) const PAUSES: [&str; 5] = [
    "go_gc_duration_seconds_sum",
    "jvm_gc_pause_seconds_sum",
    "jvm_gc_collection_seconds_sum",
    "dotnet_gc_pause_time_seconds_total",
    "nodejs_gc_duration_seconds_sum",
];

/// Calls of other services and of databases, as clients count them: the name without its unit, and how many seconds one of its unit is.
pub(super) const CALLS: [(&str, f64); 13] = [
    // OpenTelemetry's conventions, stable and older, as exporters of Prometheus write them.
    ("http_client_request_duration_seconds", 1.0),
    ("http_client_duration_milliseconds", 1e-3),
    ("http_client_duration_seconds", 1.0),
    ("rpc_client_call_duration_seconds", 1.0),
    ("rpc_client_duration_seconds", 1.0),
    ("rpc_client_duration_milliseconds", 1e-3),
    // Without a unit it is milliseconds.
    ("http_client_duration", 1e-3),
    ("rpc_client_duration", 1e-3),
    ("db_client_operation_duration_seconds", 1.0),
    // Micrometer, gRPC's middleware of Go, prometheus-net.
    ("http_client_requests_seconds", 1.0),
    ("grpc_client_handling_seconds", 1.0),
    ("grpc_client_attempt_duration_seconds", 1.0),
    ("httpclient_request_duration_seconds", 1.0),
];
