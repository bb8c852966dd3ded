//! Fault injection: each fault has its documented effect. `cargo xtask tests` checks that other builds have none.

#[cfg(feature = "faults")]
mod with_feature {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use listings::proto::ListListingsRequest;
    use peers::service::refused;
    use tokio::task::JoinSet;

    use crate::process::{Process, serve_command};
    use crate::support::{Client, a_product, get, until};
    use crate::test_store::TestStore;

    fn start(faults: &str) -> Process {
        Process::spawn(serve_command(&TestStore::new()).env("INJECT_FAULTS", faults), Stdio::null())
    }

    /// Reads the statistics of `count` storefronts concurrently; returns the duration.
    async fn read_stats(process: &Process, count: i64) -> Duration {
        let client = Client::connect(process.addresses.grpc).await;
        let started = Instant::now();
        let mut reads = JoinSet::new();
        for storefront in 1..=count {
            let mut client = client.clone();
            reads.spawn(async move { client.stats(storefront).await });
        }
        reads.join_all().await;
        started.elapsed()
    }

    /// Cache misses of listings.
    async fn misses(process: &Process) -> u64 {
        let metrics = get(process.addresses.http, "/metrics").await.1;
        let name = "listings_cache_misses_total{kind=\"listing\"} ";
        metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap().parse().unwrap()
    }

    #[test]
    fn an_unknown_fault_is_refused() {
        let message = refused(serve_command(&TestStore::new()).env("INJECT_FAULTS", "mess=1"));
        assert!(
            message.contains("INJECT_FAULTS=\"mess=1\" cannot be used") && message.contains("stampede"),
            "{message}"
        );
    }

    #[tokio::test]
    async fn the_faults_sleep_lock_and_narrow_delay_rpcs() {
        for (faults, at_least) in [("sleep=50", 50), ("lock=10", 100), ("narrow=2,sleep=20", 100)] {
            let duration = read_stats(&start(faults), 10).await;
            assert!(duration >= Duration::from_millis(at_least), "{faults}: {duration:?}");
        }
    }

    #[tokio::test]
    async fn leaks_grow_with_the_number_of_rpcs() {
        let process = start("leak-memory=1000000,leak-descriptors=2");
        // Before any connection, which would be missing again once it is closed.
        let idle = process.service.resources().unwrap();
        read_stats(&process, 1).await;
        let before = process.service.resources().unwrap();
        read_stats(&process, 100).await;
        let after = process.service.resources().unwrap();
        assert!(after.resident_kb - before.resident_kb >= 95_000, "{before:?} {after:?}");
        assert!(after.descriptors - idle.descriptors >= 50, "{idle:?} {after:?}");
    }

    #[tokio::test]
    async fn a_stampede_discards_cached_answers_repeatedly() {
        let process = start("leak-memory=1");
        let mut client = Client::connect(process.addresses.grpc).await;
        let id = client.create(a_product()).await.id;
        for _ in 0..100 {
            client.product(id).await.unwrap();
        }
        assert_eq!(misses(&process).await, 1, "without the fault the store is queried once");

        let process = start("stampede=1");
        let mut client = Client::connect(process.addresses.grpc).await;
        let id = client.create(a_product()).await.id;
        until("the store is queried repeatedly", async || {
            client.product(id).await.unwrap();
            misses(&process).await >= 10
        })
        .await;
        for quantity in 0..50 {
            client.move_stock(id, "adjustment", quantity).await.unwrap();
            assert_eq!(client.product(id).await.unwrap().stock_quantity, quantity, "no outdated answer");
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
