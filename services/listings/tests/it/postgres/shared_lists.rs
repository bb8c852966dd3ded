//! Visibility, tags and categories on several replicas with one Redis: what one replica changes, the others show.

use listings::proto::{
    CreateListingRequest, GetSimilarListingsRequest, ListListingsRequest, Tags, UpdateListingRequest,
};
use peers::redis::Redis;
use testkit::data::TestDatabase;

use crate::postgres::replicas::{clients, replicas, stop, url};
use crate::support::{Client, a_product};

async fn edit(client: &mut Client, id: i64, visibility: &str, tag: &str) {
    let edit = UpdateListingRequest {
        id,
        user_id: 7,
        visibility: Some(visibility.to_owned()),
        tags: Some(Tags { tags: vec![tag.to_owned()] }),
        ..UpdateListingRequest::default()
    };
    client.rpc.update_listing(edit).await.unwrap();
}

/// Every answer is read twice on the replica that has not written, so that the second comes from the cache.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_visibility_or_tags_shows_on_every_replica() {
    let (redis, store) = (Redis::start(&[]).unwrap(), TestDatabase::postgres());
    let replicas = replicas(&store, 2, &[("REDIS_URL", &url(&redis))]).await;
    let mut clients = clients(&replicas).await;
    let id = clients[0].create(a_product()).await.id;
    let other = clients[0].create(CreateListingRequest { storefront_id: None, ..a_product() }).await.id;
    for round in 0..12_usize {
        let is_public = round % 2 == 1;
        let tag = format!("t{round}");
        edit(&mut clients[round % 2], id, if is_public { "public" } else { "private" }, &tag).await;
        let reader = &mut clients[(round + 1) % 2];
        for _ in 0..2 {
            let found = if is_public { vec![id] } else { vec![] };
            assert_eq!(reader.search(&tag).await, (found.clone(), found.len() as i32));
            let all = if is_public { vec![other, id] } else { vec![other] };
            let of_category = ListListingsRequest { category_id: Some(20), ..ListListingsRequest::default() };
            for request in [ListListingsRequest::default(), of_category] {
                assert_eq!(reader.list(request).await, (all.clone(), all.len() as i32));
            }
            let similar = GetSimilarListingsRequest { listing_id: other, limit: None };
            let similar = reader.rpc.get_similar_listings(similar).await.unwrap().into_inner();
            assert_eq!(similar.listings.iter().map(|listing| listing.id).collect::<Vec<_>>(), found);
            let categories = reader.rpc.get_all_categories(()).await.unwrap().into_inner().categories;
            let bicycles = categories.iter().find(|category| category.id == 20).unwrap();
            assert_eq!(bicycles.listing_count, all.len() as i32);
        }
    }
    stop(replicas).await;
}

/// A replica that starts with other categories replaces those that the others have cached.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn categories_that_a_starting_replica_replaces_show_on_the_others() {
    let (redis, store) = (Redis::start(&[]).unwrap(), TestDatabase::postgres());
    let url = url(&redis);
    let first = replicas(&store, 1, &[("REDIS_URL", &url)]).await;
    let mut client = clients(&first).await.remove(0);
    for _ in 0..2 {
        assert_eq!(client.rpc.get_all_categories(()).await.unwrap().into_inner().categories.len(), 26);
    }
    let file = store.path().join("categories.toml");
    std::fs::write(&file, "[[categories]]\nid = 20\nname = \"Bicycles\"\n").unwrap();
    let file = file.display().to_string();
    let second = replicas(&store, 2, &[("REDIS_URL", &url), ("CATEGORIES_FILE", &file)]).await;
    let categories = client.rpc.get_all_categories(()).await.unwrap().into_inner().categories;
    assert_eq!(categories.iter().map(|category| category.id).collect::<Vec<_>>(), [20]);
    stop(first).await;
    stop(second).await;
}
