//! Fault injection: each fault has its documented effect. `cargo xtask tests` checks that other builds have none.

#[cfg(feature = "faults")]
mod with_feature {
    use std::time::Duration;

    use listings::proto::ListListingsRequest;
    use testkit::data::TestDatabase;
    use testkit::faults;
    use testkit::process::Process;
    use testkit::until;

    use crate::process::serving;
    use crate::support::{Client, a_product};

    fn start(faults: &str) -> Process {
        Process::start(serving(&TestDatabase::new()).env("INJECT_FAULTS", faults))
    }

    /// Reads the statistics of `count` storefronts, all at once; returns how long it took.
    async fn load(process: &Process, count: u32) -> Duration {
        let client = Client::connect(process.address("grpc")).await;
        let read = |storefront: u32| {
            let mut client = client.clone();
            async move { client.stats(i64::from(storefront) + 1).await }
        };
        faults::at_once(count, read).await
    }

    /// Cache misses of listings.
    async fn misses(process: &Process) -> f64 {
        process.admin().metric("listings_cache_misses_total{kind=\"listing\"}").await
    }

    #[test]
    fn an_unknown_fault_is_refused() {
        faults::assert_unknown_is_refused(&mut serving(&TestDatabase::new()), "stampede");
    }

    #[tokio::test]
    async fn the_faults_sleep_lock_and_narrow_delay_rpcs() {
        faults::assert_delays(start, load).await;
    }

    #[tokio::test]
    async fn leaks_grow_with_the_number_of_rpcs() {
        faults::assert_leaks(start, load).await;
    }

    #[tokio::test]
    async fn a_stampede_discards_cached_answers_repeatedly() {
        let process = start("leak-memory=1");
        let mut client = Client::connect(process.address("grpc")).await;
        let id = client.create(a_product()).await.id;
        for _ in 0..100 {
            client.product(id).await.unwrap();
        }
        assert_eq!(misses(&process).await, 1.0, "without the fault the store is queried once");

        let process = start("stampede=1");
        let mut client = Client::connect(process.address("grpc")).await;
        let id = client.create(a_product()).await.id;
        until("the store is queried repeatedly", async || {
            client.product(id).await.unwrap();
            misses(&process).await >= 10.0
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
        let mut client = Client::connect(process.address("grpc")).await;
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
