//! Categories from a file.

use kit::process::Service as _;
use listings::proto::{CategoryIdRequest, CreateListingRequest};
use listings::server::start;
use testkit::data::TestDatabase;
use testkit::grpc::code;
use tonic::Code;

use crate::support::{Client, Server, a_product};

const FIRST: &str = r#"
[[categories]]
id = 1
name = "Sport"

[[categories]]
id = 20
name = "Bicycles"
parent_id = 1
icon = "bike"
translations = { sr = "Bicikli" }
custom_ui_component = "BikePicker"
"#;

fn write(store: &TestDatabase, text: &str) -> String {
    let path = store.path().join("categories.toml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

async fn names(client: &mut Client) -> Vec<String> {
    let all = client.rpc.get_all_categories(()).await.unwrap().into_inner().categories;
    all.into_iter().map(|category| category.name).collect()
}

async fn started_with(store: TestDatabase, text: &str) -> (Server, Client) {
    let file = write(&store, text);
    let server = Server::start_in(store, &[("CATEGORIES_FILE", &file)]).await;
    let client = server.client().await;
    (server, client)
}

#[tokio::test]
async fn the_categories_of_a_file_replace_those_of_the_database() {
    let (server, mut client) = started_with(TestDatabase::new(), FIRST).await;
    assert_eq!(names(&mut client).await, ["Sport", "Bicycles"]);
    let request = CategoryIdRequest { category_id: 20 };
    let category = client.rpc.get_category(request).await.unwrap().into_inner().category.unwrap();
    assert_eq!(
        (category.slug.as_str(), category.level, category.icon.as_deref()),
        ("bicycles", 1, Some("bike"))
    );
    assert_eq!((category.translations["sr"].as_str(), category.has_custom_ui), ("Bicikli", true));
    client.create(a_product()).await;

    // Without the file, they stay.
    let server = Server::start_in(server.stop().await, &[]).await;
    assert_eq!(names(&mut server.client().await).await, ["Sport", "Bicycles"]);

    let swapped = FIRST.replace("Sport", "Outdoors").replace("icon = \"bike\"", "is_active = false");
    let (server, mut client) = started_with(server.stop().await, &swapped).await;
    assert_eq!(names(&mut client).await, ["Outdoors", "Bicycles"]);
    assert_eq!(code(client.rpc.create_listing(a_product()).await), Code::FailedPrecondition);
    let elsewhere = CreateListingRequest { category_id: 1, ..a_product() };
    client.create(elsewhere).await;
    let tree = client.rpc.get_category_tree(CategoryIdRequest { category_id: 1 }).await.unwrap().into_inner();
    assert!(tree.tree.unwrap().children.is_empty(), "the other one is not active");
    let category = client.rpc.get_category(request).await.unwrap().into_inner().category.unwrap();
    assert_eq!((category.is_active, category.listing_count), (false, 1));
    server.running.stop().await;
}

#[tokio::test]
async fn a_file_without_a_category_that_has_listings_is_refused_and_changes_nothing() {
    let (server, mut client) = started_with(TestDatabase::new(), FIRST).await;
    client.create(a_product()).await;
    drop(client);
    let store = server.stop().await;
    let file = write(&store, "[[categories]]\nid = 1\nname = \"Other\"\n");
    let settings = crate::database::settings(&store, &[("CATEGORIES_FILE", &file)]);
    let refused = start(&settings).await.err().unwrap().to_string();
    assert!(refused.contains("leaves out category 20, which has listings"), "{refused}");
    let server = Server::start_in(store, &[]).await;
    assert_eq!(names(&mut server.client().await).await, ["Sport", "Bicycles"]);
}
