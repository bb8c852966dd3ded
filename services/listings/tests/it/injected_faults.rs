//! Known faults: absent from builds that did not ask for them, and doing what is said of them in those that did.

#[cfg(not(feature = "faults"))]
#[test]
fn a_build_without_fault_injection_contains_no_fault() {
    let binary = std::fs::read(crate::process::BINARY).unwrap();
    let has = |text: &str| binary.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has("RATE_LIMIT_ON_FAILURE"), "this is how a variable's name looks");
    for text in ["INJECT_FAULTS", "leak-descriptors", "stampede", "narrow-store", "read-then-write"] {
        assert!(!has(text), "{text}");
    }
}

#[cfg(feature = "faults")]
mod built_in {
    use crate::home::Home;
    use crate::process::{Process, serving};
    use crate::support::{Client, a_product, get, until};
    use listings::proto::ListListingsRequest;
    use std::process::Stdio;
    use std::time::{Duration, Instant};
    use tokio::task::JoinSet;

    fn start(faults: &str) -> Process {
        Process::started(serving(&Home::new()).env("INJECT_FAULTS", faults), Stdio::null())
    }

    /// Asks so many times for sums, all at once; returns how long it took.
    async fn ask(process: &Process, count: i64) -> Duration {
        let client = Client::connect(process.addresses.grpc).await;
        let began = Instant::now();
        let mut asked = JoinSet::new();
        for storefront in 1..=count {
            let mut client = client.clone();
            asked.spawn(async move { client.stats(storefront).await });
        }
        asked.join_all().await;
        began.elapsed()
    }

    /// Memory in kB, and open files.
    fn kept(process: &Process) -> (u64, usize) {
        let own = format!("/proc/{}", process.child.id());
        let status = std::fs::read_to_string(format!("{own}/status")).unwrap();
        let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let rss = rss.split_ascii_whitespace().next().unwrap().parse().unwrap();
        (rss, std::fs::read_dir(format!("{own}/fd")).unwrap().count())
    }

    /// Looks for listings that the cache had not.
    async fn misses(process: &Process) -> u64 {
        let metrics = get(process.addresses.http, "/metrics").await.1;
        let name = "listings_cache_misses_total{kind=\"listing\"} ";
        metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap().parse().unwrap()
    }

    #[test]
    fn an_unknown_fault_is_refused() {
        let told = serving(&Home::new()).env("INJECT_FAULTS", "mess=1").output().unwrap();
        assert_eq!(told.status.code(), Some(2));
        let said = String::from_utf8(told.stderr).unwrap();
        assert!(
            said.contains("INJECT_FAULTS=\"mess=1\" cannot be used") && said.contains("stampede"),
            "{said}"
        );
    }

    #[tokio::test]
    async fn a_sleep_a_lock_and_a_narrow_place_hold_rpcs_up() {
        for (faults, at_least) in [("sleep=50", 50), ("lock=10", 100), ("narrow=2,sleep=20", 100)] {
            let took = ask(&start(faults), 10).await;
            assert!(took >= Duration::from_millis(at_least), "{faults}: {took:?}");
        }
    }

    #[tokio::test]
    async fn leaks_grow_with_the_rpcs() {
        let process = start("leak-memory=1000000,leak-descriptors=2");
        ask(&process, 1).await;
        let before = kept(&process);
        ask(&process, 100).await;
        let after = kept(&process);
        assert!(after.0 - before.0 >= 95_000, "{before:?} {after:?}");
        assert!(after.1 - before.1 >= 50, "{before:?} {after:?}");
    }

    #[tokio::test]
    async fn what_is_remembered_is_forgotten_again_and_again() {
        let process = start("leak-memory=1");
        let mut client = Client::connect(process.addresses.grpc).await;
        let id = client.create(a_product()).await.id;
        for _ in 0..100 {
            client.product(id).await.unwrap();
        }
        assert_eq!(misses(&process).await, 1, "usually it is asked for once");

        let process = start("stampede=1");
        let mut client = Client::connect(process.addresses.grpc).await;
        let id = client.create(a_product()).await.id;
        until("it is asked for again and again", async || {
            client.product(id).await.unwrap();
            misses(&process).await >= 10
        })
        .await;
        for quantity in 0..50 {
            client.move_stock(id, ("adjustment", quantity)).await.unwrap();
            assert_eq!(client.product(id).await.unwrap().stock_quantity, quantity, "never old");
        }
    }

    #[tokio::test]
    async fn answers_without_an_index_are_the_same() {
        let process = start("unindexed=1");
        let mut client = Client::connect(process.addresses.grpc).await;
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.insert(0, client.create(a_product()).await.id);
        }
        let stats = client.stats(3).await;
        assert_eq!((stats.total_products, stats.active_products, stats.total_value), (3, 3, 599.7));
        assert_eq!(client.stats(4).await.total_products, 0);
        assert_eq!(client.search("red bike").await, (ids.clone(), 3));
        assert_eq!(client.search("blue bike").await, (vec![], 0));
        let of = |storefront| ListListingsRequest {
            storefront_id: Some(storefront),
            ..ListListingsRequest::default()
        };
        assert_eq!(client.list(of(3)).await, (ids, 3));
        assert_eq!(client.list(of(4)).await, (vec![], 0));
    }
}
