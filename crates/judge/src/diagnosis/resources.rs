//! The resources of a run: how much of each is used, how much there is, and how long requests wait for it.

mod conventions;

use evidence::diagnosis::ResourceUse;
use evidence::run::ReadError;
use evidence::{Coverage, Notice, NoticeKind, Run, SeriesKey, Window};
use workload::Workload;
use workload::observation::{Pool, PoolSize};

use conventions::PoolMetrics;

/// From this share of the machine's processors on, what other processes use is much.
const MAX_OTHERS: f64 = 0.10;
/// What a pool has in use …
const IN_USE: &str = "_in_use";
/// … or, to the point, the seconds a second that it was held, added up …
const HELD: [&str; 3] = ["_use_seconds_sum", "_use_seconds_total", "_usage_seconds_sum"];
/// … and how much it may have.
const LIMITS: [&str; 3] = ["_limit", "_max", "_size"];
/// … and the seconds a second that are waited for it.
const WAITS: [&str; 3] = ["_wait_seconds_sum", "_wait_seconds_total", "_wait_duration_seconds_total"];
/// The machine's series.
const HOST: &str = "host";

/// The series of the processors that a target's processes use.
pub(crate) const CPU: &str = "cpu";
/// The series of the thread of a target that uses the most of a processor.
pub(crate) const BUSIEST_THREAD: &str = "busiest_thread_cpu";
/// Connections that a full accept queue lost, and segments that were sent again.
pub(super) const LISTEN_OVERFLOWS: &str = "host_listen_overflows";
pub(super) const RETRANSMITS: &str = "host_retransmits";
/// Sessions of PostgreSQL that wait, by class …
const SESSION_WAITS: &str = "pg_waits";
/// … how many wait for each session that holds a lock …
pub(super) const BLOCKERS: &str = "pg_blockers";
/// … of which these are waits of a request; in the others a session waits for its client, or for the time.
const CLASSES: [&str; 6] = ["Lock", "LWLock", "IO", "fsync", "BufferPin", "IPC"];
/// The share of the time in which a thread of a target's control group waited for a disk.
const DISK_PRESSURE: &str = "cgroup_pressure_io";
/// Local ports that connections have, also closed ones whose port is not free yet, as a share of those that connections may have …
const LOCAL_PORTS: &str = "host_local_ports";
/// … from which on they are nearly used up.
const FEW_PORTS_LEFT: f64 = 0.8;
/// From this share of its CPU in one thread on a target has one thread that does the work.
const ONE_THREAD: f64 = 0.67;

/// The processors of the machine, and those that the generator may use.
const MACHINE: [&str; 2] = ["cores", "cores_usable"];
const GENERATOR: [&str; 2] = ["cores_usable", "cores"];

/// Whether a series is of processors.
pub(super) fn is_of_processors(series: &str) -> bool {
    [CPU, BUSIEST_THREAD, "cgroup_cpu", "host_cpu"].contains(&series)
}

/// Where resources are read, and the load meanwhile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UseWindow {
    pub(crate) window: Window,
    /// Requests that were answered correctly, a second.
    pub(crate) completions_per_s: f64,
    /// Their mean response time, in seconds.
    pub(crate) response_s: Option<f64>,
}

/// What each target and the machine used, where its limit is known too, and how long each completion waited for it. Nothing is read of
/// a target that was restarted meanwhile, or gone: its counters are those of two processes.
pub(crate) fn uses(run: &dyn Run, workload: &Workload, at: UseWindow) -> Result<Vec<ResourceUse>, ReadError> {
    let UseWindow { window, completions_per_s, response_s } = at;
    let observed = ObservedRun { run, window, completions_per_s, response_s };
    let mut targets: Vec<&str> = run.series().iter().map(|series| &*series.target).collect();
    targets.sort_unstable();
    targets.dedup();
    let notices = run.notices()?;
    let is_interrupted = |target: &str| {
        let is_its = |notice: &Notice| {
            notice.observer == target && matches!(notice.kind, NoticeKind::Restarted | NoticeKind::Gone)
        };
        notices.iter().any(|notice| is_its(notice) && window.begin <= notice.at && notice.at < window.end)
    };
    let mut uses = Vec::new();
    for target in targets.into_iter().filter(|target| *target != SeriesKey::GENERATOR && *target != HOST) {
        if !is_interrupted(target) {
            uses.extend(observed.processors(target)?);
            uses.extend(observed.pools(target)?);
            let described = workload.targets.get(target).map_or(&[][..], |target| &target.observe.pools);
            uses.extend(observed.known_pools(target, described)?);
            uses.extend(observed.waits(target)?);
        }
    }
    let machine = observed.machine(&uses)?;
    uses.extend(machine);
    uses.extend(observed.connections()?);
    Ok(uses)
}

struct ObservedRun<'a> {
    run: &'a dyn Run,
    window: Window,
    completions_per_s: f64,
    response_s: Option<f64>,
}

impl ObservedRun<'_> {
    /// The mean of the sum of a series' parts.
    fn mean(&self, target: &str, name: &str) -> Result<Option<f64>, ReadError> {
        let mut sum = None;
        for series in self.run.series().iter().filter(|key| &*key.target == target && &*key.name == name) {
            let integral = Coverage::read(self.run, series)?.integral(self.window);
            if integral.covered_s > 0.0 {
                sum = Some(sum.unwrap_or(0.0) + integral.sum / integral.covered_s);
            }
        }
        Ok(sum)
    }

    /// The part of seconds a second that each completion has.
    fn of_each(&self, seconds_per_s: Option<f64>) -> Option<f64> {
        seconds_per_s.filter(|_| self.completions_per_s > 0.0).map(|s| s / self.completions_per_s)
    }

    /// The first of these numbers that the machine has.
    fn cores(&self, names: [&str; 2]) -> Option<f64> {
        let environment = &self.run.manifest().environment;
        names.into_iter().find_map(|name| environment.get(name)?.parse().ok())
    }

    fn processors(&self, target: &str) -> Result<Vec<ResourceUse>, ReadError> {
        let quota = self.mean(target, "cgroup_cpu_limit")?;
        let allowed = self.mean(target, "cpus_allowed")?;
        let of_group = self.mean(target, "cgroup_cpu")?.filter(|_| quota.is_some());
        // A quota whose use was observed is a resource of its own.
        // The generator's affinity says nothing of a target whose own was observed.
        let whole = self.cores(if allowed.is_some() { MACHINE } else { GENERATOR });
        let processors =
            whole.into_iter().chain(quota.filter(|_| of_group.is_none())).chain(allowed).reduce(f64::min);
        let wait_s = self.of_each(self.mean(target, "run_delay")?);
        let used = self.mean(target, CPU)?;
        let mut uses = Vec::new();
        let mut add = |what: &str, series: &str, used: Option<f64>, limit: Option<f64>, wait_s| {
            if let (Some(used), Some(limit)) = (used, limit.filter(|limit| *limit > 0.0)) {
                let (name, series) = (format!("{what} {target}"), series.to_owned());
                uses.push(ResourceUse { name, series, used, limit: Some(limit), wait_s });
            }
        };
        add("CPU quota of", "cgroup_cpu", of_group, quota, None);
        add("CPU of", CPU, used, processors, wait_s);
        let thread = self.mean(target, BUSIEST_THREAD)?;
        let does_the_work = thread.zip(used).is_some_and(|(thread, used)| thread >= ONE_THREAD * used);
        if does_the_work && processors.is_none_or(|processors| processors > 1.0) {
            add("one thread of", BUSIEST_THREAD, thread, Some(1.0), None);
        }
        Ok(uses)
    }

    fn pools(&self, target: &str) -> Result<Vec<ResourceUse>, ReadError> {
        let mut names: Vec<&str> =
            self.run.series().iter().filter(|key| &*key.target == target).map(|key| &*key.name).collect();
        names.sort_unstable();
        names.dedup();
        let mut uses = Vec::new();
        for name in names {
            let Some(pool) = name.strip_suffix(IN_USE) else { continue };
            let mut limit = None;
            for suffix in LIMITS {
                limit = limit.or(self.mean(target, &format!("{pool}{suffix}"))?);
            }
            let mut waited = None;
            for suffix in WAITS {
                waited = waited.or(self.mean(target, &format!("{pool}{suffix}"))?);
            }
            let mut held = None;
            for suffix in HELD {
                held = held.or(self.mean(target, &format!("{pool}{suffix}"))?);
            }
            let used = held.or(self.mean(target, name)?);
            if let (Some(used), Some(limit)) = (used, limit.filter(|limit| *limit > 0.0)) {
                uses.push(ResourceUse {
                    name: format!("{pool} of {target}"),
                    series: name.to_owned(),
                    used,
                    limit: Some(limit),
                    wait_s: self.of_each(waited),
                });
            }
        }
        Ok(uses)
    }

    /// Pools of libraries whose metrics have other names, and those that the plan describes.
    fn known_pools(&self, target: &str, described: &[Pool]) -> Result<Vec<ResourceUse>, ReadError> {
        let mut uses = Vec::new();
        for pool in conventions::POOLS {
            let limit = self.mean(target, pool.limit)?;
            uses.extend(self.pool(target, &pool, limit)?);
        }
        for pool in described {
            let limit = match &pool.size {
                PoolSize::Metric(name) => self.mean(target, name)?,
                PoolSize::Of(size) => Some(f64::from(*size)),
            };
            uses.extend(self.pool(target, &PoolMetrics::of(pool), limit)?);
        }
        Ok(uses)
    }

    fn pool(
        &self,
        target: &str,
        pool: &PoolMetrics<'_>,
        limit: Option<f64>,
    ) -> Result<Option<ResourceUse>, ReadError> {
        let used = self.mean(target, pool.held)?.or(self.mean(target, pool.in_use)?);
        let (Some(used), Some(limit)) = (used, limit.filter(|limit| *limit > 0.0)) else { return Ok(None) };
        let waited = self.mean(target, pool.waited)?.or(self.mean(target, pool.waiting)?);
        Ok(Some(ResourceUse {
            name: format!("{} of {target}", pool.name),
            series: if pool.in_use.is_empty() { pool.held } else { pool.in_use }.to_owned(),
            used,
            limit: Some(limit),
            wait_s: self.of_each(waited),
        }))
    }

    /// What is waited for and has no size: pauses of a collector, calls of other services, and what sessions of a database wait for.
    fn waits(&self, target: &str) -> Result<Vec<ResourceUse>, ReadError> {
        let mut uses = Vec::new();
        for series in conventions::PAUSES {
            let Some(paused) = self.mean(target, series)? else { continue };
            uses.push(ResourceUse {
                name: format!("garbage collection of {target}"),
                series: series.to_owned(),
                used: paused,
                limit: None,
                // A pause stops every request that is in progress.
                wait_s: self.response_s.map(|response| paused * response),
            });
        }
        if let Some(pressure) = self.mean(target, DISK_PRESSURE)?.filter(|share| *share > 0.0) {
            uses.push(ResourceUse {
                name: format!("disks of {target}"),
                series: DISK_PRESSURE.to_owned(),
                used: pressure,
                limit: None,
                // Of the threads that waited at a time, at least one.
                wait_s: self.of_each(Some(pressure)),
            });
        }
        for (name, unit_s) in conventions::CALLS {
            let Some(sum) = self.mean(target, &format!("{name}_sum"))? else { continue };
            uses.push(ResourceUse {
                name: format!("calls of {target} ({name})"),
                series: name.to_owned(),
                used: sum * unit_s,
                limit: None,
                wait_s: self.of_each(Some(sum * unit_s)),
            });
        }
        uses.extend(self.blockers(target)?);
        let is_its = |key: &&SeriesKey| &*key.target == target && &*key.name == SESSION_WAITS;
        for key in self.run.series().iter().filter(is_its).filter(|key| CLASSES.contains(&&*key.part)) {
            let integral = Coverage::read(self.run, key)?.integral(self.window);
            if integral.covered_s > 0.0 {
                let waiting = integral.sum / integral.covered_s;
                uses.push(ResourceUse {
                    name: format!("{} waits of {target}", key.part),
                    series: format!("{SESSION_WAITS} ({})", key.part),
                    used: waiting,
                    limit: None,
                    wait_s: self.of_each(Some(waiting)),
                });
            }
        }
        Ok(uses)
    }

    /// Sessions whose locks others wait for. The wait itself is that of the class `Lock`.
    fn blockers(&self, target: &str) -> Result<Vec<ResourceUse>, ReadError> {
        let mut uses = Vec::new();
        let is_its = |key: &&SeriesKey| &*key.target == target && &*key.name == BLOCKERS;
        for key in self.run.series().iter().filter(is_its) {
            let integral = Coverage::read(self.run, key)?.integral(self.window);
            if integral.sum > 0.0 {
                uses.push(ResourceUse {
                    name: format!("locks of {target} held by {}", key.part),
                    series: BLOCKERS.to_owned(),
                    used: integral.sum / integral.covered_s,
                    limit: None,
                    wait_s: None,
                });
            }
        }
        Ok(uses)
    }

    /// What the machine's TCP did that it does not do where connections are accepted and nothing is lost.
    fn connections(&self) -> Result<Vec<ResourceUse>, ReadError> {
        let mut uses = Vec::new();
        let counters =
            [(LISTEN_OVERFLOWS, "full accept queues, connections/s"), (RETRANSMITS, "segments sent again/s")];
        for (series, name) in counters {
            if let Some(used) = self.mean(HOST, series)?.filter(|rate| *rate > 0.0) {
                let (name, series) = (name.to_owned(), series.to_owned());
                uses.push(ResourceUse { name, series, used, limit: None, wait_s: None });
            }
        }
        if let Some(used) = self.mean(HOST, LOCAL_PORTS)?.filter(|share| *share >= FEW_PORTS_LEFT) {
            let (name, series) = ("share of local ports in use".to_owned(), LOCAL_PORTS.to_owned());
            uses.push(ResourceUse { name, series, used, limit: None, wait_s: None });
        }
        Ok(uses)
    }

    /// The processors of the machine, which the generator uses too; none where other processes than it and the targets may
    /// have used much of them: what neighbours fill is not what the load brings to its limit.
    fn machine(&self, targets: &[ResourceUse]) -> Result<Option<ResourceUse>, ReadError> {
        let used = self.mean(HOST, "host_cpu")?;
        let generator = self.mean(SeriesKey::GENERATOR, "cpu")?;
        let generator = generator.or(self.mean(SeriesKey::GENERATOR, "loop_cpu")?).unwrap_or(0.0);
        let targets = targets.iter().filter(|resource| resource.series == CPU);
        let known = generator + targets.map(|target| target.used).sum::<f64>();
        let limit = self.cores(MACHINE);
        let of_load = used.zip(limit).filter(|(used, limit)| used - known < MAX_OTHERS * limit);
        Ok(of_load.map(|(used, limit)| ResourceUse {
            name: "CPU of the machine, the generator's included".to_owned(),
            series: "host_cpu".to_owned(),
            used,
            limit: Some(limit),
            wait_s: None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Load, TestRun};
    use workload::Target;
    use workload::observation::Observation;

    fn at(window: Window) -> UseWindow {
        UseWindow { window, completions_per_s: 10.0, response_s: Some(0.01) }
    }

    #[test]
    fn a_target_has_no_more_processors_than_its_affinity_and_quota_allow() {
        let of = |series: &[(&str, f64)]| {
            let mut test_run = TestRun::new().offer("steady", "list", Load::ok(10));
            test_run.edit(|manifest| {
                manifest.environment.insert("cores".to_owned(), "4".to_owned());
                manifest.environment.insert("cores_usable".to_owned(), "3".to_owned());
            });
            for (name, value) in series {
                test_run.observe(&SeriesKey::new(name, "web", "1"), 0..70, *value);
            }
            let window = Window::new(&test_run.run.whole());
            let all = uses(&test_run.run, &test_run.workload, at(window)).unwrap();
            all.into_iter().find(|it| it.series == "cpu").and_then(|it| it.limit)
        };
        assert_eq!(of(&[("cpu", 0.9)]), Some(3.0));
        assert_eq!(of(&[("cpu", 0.9), ("cpus_allowed", 4.0)]), Some(4.0), "the generator alone has three");
        assert_eq!(of(&[("cpu", 0.9), ("cpus_allowed", 1.0)]), Some(1.0));
        assert_eq!(of(&[("cpu", 0.9), ("cpus_allowed", 2.0), ("cgroup_cpu_limit", 0.5)]), Some(0.5));
        assert_eq!(of(&[("cpu", 0.9), ("cpus_allowed", 64.0)]), Some(4.0), "the machine has no more");
        assert_eq!(of(&[("cpus_allowed", 1.0)]), None);
    }

    #[test]
    fn a_machine_that_neighbours_fill_is_no_resource_of_the_target() {
        let of = |host: f64, target: f64| {
            let mut test_run = TestRun::new().offer("steady", "list", Load::ok(10));
            test_run.edit(|manifest| {
                manifest.environment.insert("cores".to_owned(), "2".to_owned());
            });
            let series =
                [("host_cpu", HOST, host), ("cpu", SeriesKey::GENERATOR, 0.2), ("cpu", "web", target)];
            for (name, of, value) in series {
                test_run.observe(&SeriesKey::new(name, of, "cores"), 0..70, value);
            }
            let window = Window::new(&test_run.run.whole());
            let all = uses(&test_run.run, &test_run.workload, at(window)).unwrap();
            all.iter().any(|it| it.series == "host_cpu")
        };
        assert!(of(1.99, 1.7), "0.09 cores of others");
        assert!(!of(1.99, 0.05), "1.74 cores of others");
    }

    #[test]
    fn a_pool_is_waited_for_as_long_as_its_metrics_say() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(10));
        let series = [("db_in_use", 3.5), ("db_max", 4.0), ("db_wait_seconds_sum", 0.2)];
        for (name, value) in series {
            test_run.observe(&SeriesKey::new(name, "web", "1"), 0..70, value);
        }
        let window = Window::new(&test_run.run.whole());
        let pools = uses(&test_run.run, &test_run.workload, at(window)).unwrap();
        let [pool] = &pools[..] else { panic!("{pools:?}") };
        assert!((pool.used - 3.5).abs() < 1e-9 && (pool.limit.unwrap() - 4.0).abs() < 1e-9, "{pool:?}");
        assert!(
            (pool.wait_s.unwrap() - 0.02).abs() < 1e-12,
            "0.2 s a second for 10 requests a second: {pool:?}"
        );
    }

    #[test]
    fn how_long_a_pool_was_held_shows_its_use_better_than_looks_at_it() {
        let pools = read(&[
            ("db_in_use", "", 4.0),
            ("db_max", "", 4.0),
            ("db_use_seconds_total", "", 2.5),
            ("hikaricp_connections_active", "", 9.0),
            ("hikaricp_connections_max", "", 10.0),
            ("hikaricp_connections_usage_seconds_sum", "", 7.25),
        ]);
        let used: Vec<_> = pools.iter().map(|pool| (&*pool.name, pool.used)).collect();
        assert_eq!(used, [("db of web", 2.5), ("HikariCP pool of web", 7.25)]);
    }

    /// What is read of `web` where these series have these values.
    fn read(series: &[(&str, &str, f64)]) -> Vec<ResourceUse> {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(10));
        test_run.edit(|manifest| {
            manifest.environment.insert("cores".to_owned(), "4".to_owned());
        });
        for (name, part, value) in series {
            test_run.observe(&SeriesKey::new(name, "web", "1").part(part), 0..70, *value);
        }
        let window = Window::new(&test_run.run.whole());
        uses(&test_run.run, &test_run.workload, at(window)).unwrap()
    }

    fn rounded(value: f64) -> f64 {
        (value * 1e9).round() / 1e9
    }

    #[test]
    fn pools_of_libraries_are_known_by_their_metrics() {
        let pools = read(&[
            ("go_sql_in_use_connections", "db_name=shop", 3.0),
            ("go_sql_max_open_connections", "db_name=shop", 4.0),
            ("go_sql_wait_duration_seconds_total", "db_name=shop", 0.5),
            ("hikaricp_connections_active", "", 9.0),
            ("hikaricp_connections_max", "", 10.0),
            ("hikaricp_connections_pending", "", 2.0),
        ]);
        let shown: Vec<_> =
            pools.iter().map(|pool| (&*pool.name, pool.used, pool.limit, pool.wait_s.map(rounded))).collect();
        assert_eq!(
            shown,
            [
                ("database pool of web", 3.0, Some(4.0), Some(0.05)),
                ("HikariCP pool of web", 9.0, Some(10.0), Some(0.2)),
            ]
        );
    }

    #[test]
    fn pauses_and_waits_of_a_database_have_no_size() {
        let waits = read(&[
            ("go_gc_duration_seconds_sum", "", 0.1),
            ("pg_waits", "Lock", 2.0),
            ("pg_waits", "Client", 7.0),
        ]);
        let shown: Vec<_> =
            waits.iter().map(|wait| (&*wait.name, wait.limit, wait.wait_s.map(rounded))).collect();
        assert_eq!(
            shown,
            // A tenth of the time is paused, and a request takes 10 ms; two sessions wait, and 10 requests a second are answered.
            [("garbage collection of web", None, Some(0.001)), ("Lock waits of web", None, Some(0.2))]
        );
    }

    #[test]
    fn who_holds_locks_is_shown_where_others_wait_for_them() {
        let of =
            |waiting| read(&[("pg_blockers", "idle in transaction: UPDATE goods SET price = $1", waiting)]);
        let shown: Vec<_> = of(2.5).iter().map(|it| (it.name.clone(), it.used, it.wait_s)).collect();
        let name = "locks of web held by idle in transaction: UPDATE goods SET price = $1".to_owned();
        assert_eq!(shown, [(name, 2.5, None)]);
        assert_eq!(of(0.0), []);
    }

    #[test]
    fn pools_with_other_names_are_known_by_the_plan() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(10));
        for (name, value) in
            [("stock_busy", 3.0), ("stock_blocked_seconds", 0.5), ("busy_seconds", 1.5), ("workers", 4.0)]
        {
            test_run.observe(&SeriesKey::new(name, "web", "1"), 0..70, value);
        }
        let name = |name: &str| Some(name.to_owned());
        let stock = Pool {
            name: "stock".to_owned(),
            in_use: name("stock_busy"),
            size: PoolSize::Of(8),
            waited: name("stock_blocked_seconds"),
            ..Pool::default()
        };
        let size = PoolSize::Metric("workers".to_owned());
        let workers =
            Pool { name: "workers".to_owned(), held: name("busy_seconds"), size, ..Pool::default() };
        let observe = Observation { pools: vec![stock, workers], ..Observation::default() };
        test_run.workload.targets.insert("web".to_owned(), Target { observe, ..Target::default() });
        let window = Window::new(&test_run.run.whole());
        let pools = uses(&test_run.run, &test_run.workload, at(window)).unwrap();
        let shown: Vec<_> = pools
            .iter()
            .map(|pool| (&*pool.name, &*pool.series, pool.used, pool.limit, pool.wait_s.map(rounded)))
            .collect();
        assert_eq!(
            shown,
            [
                ("stock of web", "stock_busy", 3.0, Some(8.0), Some(0.05)),
                ("workers of web", "busy_seconds", 1.5, Some(4.0), None),
            ]
        );
    }

    #[test]
    fn disks_and_files_that_are_synced_are_waited_for() {
        let waits =
            read(&[("cgroup_pressure_io", "", 0.2), ("pg_waits", "fsync", 1.5), ("pg_waits", "Client", 9.0)]);
        let shown: Vec<_> = waits.iter().map(|it| (&*it.name, it.limit, it.wait_s.map(rounded))).collect();
        assert_eq!(shown, [("disks of web", None, Some(0.02)), ("fsync waits of web", None, Some(0.15))]);
        assert_eq!(read(&[("cgroup_pressure_io", "", 0.0)]), []);
    }

    #[test]
    fn calls_of_other_services_are_waited_for_as_long_as_clients_count() {
        let calls = read(&[
            ("http_client_request_duration_seconds_sum", "server_address=stock", 0.3),
            ("http_client_request_duration_seconds_sum", "server_address=price", 0.1),
            ("rpc_client_duration_milliseconds_sum", "", 250.0),
        ]);
        let shown: Vec<_> = calls.iter().map(|it| (&*it.name, it.limit, it.wait_s.map(rounded))).collect();
        assert_eq!(
            shown,
            [
                ("calls of web (http_client_request_duration_seconds)", None, Some(0.04)),
                ("calls of web (rpc_client_duration_milliseconds)", None, Some(0.025)),
            ]
        );
    }

    #[test]
    fn run_delay_is_the_wait_for_a_processor_and_one_busy_thread_is_a_resource() {
        let one_thread = read(&[("cpu", "", 0.9), ("busiest_thread_cpu", "", 0.85), ("run_delay", "", 0.3)]);
        let shown: Vec<_> =
            one_thread.iter().map(|it| (&*it.name, it.limit, it.wait_s.map(rounded))).collect();
        assert_eq!(shown, [("CPU of web", Some(4.0), Some(0.03)), ("one thread of web", Some(1.0), None)]);
        let many = read(&[("cpu", "", 1.9), ("busiest_thread_cpu", "", 0.9)]);
        assert!(many.iter().all(|it| it.series != BUSIEST_THREAD), "{many:?}");
        let pinned = read(&[("cpu", "", 0.9), ("busiest_thread_cpu", "", 0.85), ("cpus_allowed", "", 1.0)]);
        assert!(pinned.iter().all(|it| it.series != BUSIEST_THREAD), "that is the processor: {pinned:?}");
    }

    #[test]
    fn a_quota_whose_use_was_observed_is_not_the_limit_of_the_processors_too() {
        let uses = read(&[("cpu", "", 0.4), ("cgroup_cpu", "", 0.45), ("cgroup_cpu_limit", "", 0.5)]);
        let shown: Vec<_> = uses.iter().map(|it| (&*it.name, it.limit)).collect();
        assert_eq!(shown, [("CPU quota of web", Some(0.5)), ("CPU of web", Some(4.0))]);
    }

    #[test]
    fn connections_that_a_full_accept_queue_lost_are_shown_and_none_where_there_were_none() {
        let of = |overflows: f64| {
            let mut test_run = TestRun::new().offer("steady", "list", Load::ok(10));
            test_run.observe(&SeriesKey::new(LISTEN_OVERFLOWS, HOST, "1/s"), 0..70, overflows);
            let window = Window::new(&test_run.run.whole());
            let lost = |it: &ResourceUse| (it.series == LISTEN_OVERFLOWS).then_some(it.used);
            uses(&test_run.run, &test_run.workload, at(window)).unwrap().iter().find_map(lost)
        };
        assert_eq!((of(12.0), of(0.0)), (Some(12.0), None));
    }

    #[test]
    fn local_ports_are_shown_where_few_are_left() {
        let of = |share: f64| {
            let mut test_run = TestRun::new().offer("steady", "list", Load::ok(10));
            test_run.observe(&SeriesKey::new(LOCAL_PORTS, HOST, "1"), 0..70, share);
            let window = Window::new(&test_run.run.whole());
            let uses = uses(&test_run.run, &test_run.workload, at(window)).unwrap();
            uses.iter().map(|it| (it.name.clone(), it.used)).collect::<Vec<_>>()
        };
        assert_eq!(of(0.9375), [("share of local ports in use".to_owned(), 0.9375)]);
        assert_eq!(of(0.79), []);
    }
}
