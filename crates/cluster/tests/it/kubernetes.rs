//! Runs as objects of Kubernetes: what is printed, and that the API knows every field of it.

use std::collections::BTreeMap;

use cluster::kubernetes::{FilesFrom, Object, Reached, RunObjects, SecretFrom, to_yaml};
use serde_json::{Value, json};

use crate::schema::Schema;
use crate::yaml::document;

fn run() -> RunObjects {
    let files: [(&str, &[u8]); 2] =
        [("plan.toml", b"version = 1\n\n[targets.api]\n"), ("data/users.bin", b"\xff\x00")];
    let open = files.into_iter().map(|(path, content)| (path.to_owned(), content.into())).collect();
    let secret = BTreeMap::from([("tls/client.key".to_owned(), b"hunter2".as_slice().into())]);
    RunObjects {
        name: "checkout".to_owned(),
        namespace: None,
        image: "plimsoll:0.1.0".to_owned(),
        pods: 3,
        cpu: "1".to_owned(),
        memory: "512Mi".to_owned(),
        plan: "plan.toml".to_owned(),
        files: FilesFrom::Objects { open, secret },
        run_file_claim: None,
        arguments: vec!["--load".to_owned(), "0.5".to_owned()],
        secret: SecretFrom::Existing {
            name: "checkout-secret".to_owned(),
            environment: vec!["TOKEN".to_owned()],
        },
        reached: Some(vec![
            Reached { host: "api.shop.svc".to_owned(), port: 80 },
            Reached { host: "10.0.0.7".to_owned(), port: 8443 },
        ]),
        start_limit_s: 600,
        run_limit_s: 90,
    }
}

fn made() -> RunObjects {
    let environment = BTreeMap::from([("TOKEN".to_owned(), "hunter2: #\n".to_owned())]);
    RunObjects {
        namespace: Some("load".to_owned()),
        secret: SecretFrom::Made { keys: "-----BEGIN\nabc\n".to_owned(), environment },
        ..run()
    }
}

/// A run of a script, which may ask anyone.
fn script() -> RunObjects {
    let secret = SecretFrom::Existing {
        name: "checkout".to_owned(),
        environment: vec!["SCRIPT_ENV_TOKEN".to_owned()],
    };
    let arguments = vec!["--vus=3".to_owned(), "--env=TOKEN=$(SCRIPT_ENV_TOKEN)".to_owned()];
    RunObjects { plan: "s/script.js".to_owned(), arguments, secret, reached: None, ..run() }
}

/// A run whose file is to outlive pod 0.
fn with_run_file_claim() -> RunObjects {
    RunObjects { run_file_claim: Some("runs".to_owned()), ..run() }
}

fn all(run: &RunObjects) -> Vec<Object> {
    let mut objects = vec![run.job().unwrap()];
    objects.extend(run.belongings().unwrap());
    objects
}

#[test]
fn a_run_that_is_kept_in_a_repository() {
    let printed: Vec<String> = all(&run()).iter().map(|object| to_yaml(&object.0)).collect();
    insta::assert_snapshot!(printed.join("---\n"));
}

#[test]
fn secrets_are_in_the_secret_alone_and_the_command_owns_what_it_makes() {
    let objects = all(&made());
    let has_value = |object: &&Object| object.0.to_string().contains("hunter2");
    let with_value: Vec<&Object> = objects.iter().filter(has_value).collect();
    let [Object(secret)] = with_value.as_slice() else { panic!("{with_value:?}") };
    assert_eq!((&secret["kind"], &secret["metadata"]["namespace"]), (&json!("Secret"), &json!("load")));
    insta::assert_snapshot!(to_yaml(secret), @r#"
    apiVersion: v1
    data:
      "0-client.key": aHVudGVyMg==
    kind: Secret
    metadata:
      labels:
        app.kubernetes.io/component: load
        app.kubernetes.io/managed-by: plimsoll
        app.kubernetes.io/name: plimsoll
        plimsoll/run: checkout
      name: checkout
      namespace: load
    stringData:
      TOKEN: |
        hunter2: #
      run.pem: |
        -----BEGIN
        abc
    type: Opaque
    "#);
    assert!(!format!("{:?}", made()).contains("hunter2"));
}

#[test]
fn the_api_knows_every_field_and_what_is_printed_is_what_was_made() {
    let schema = Schema::of_the_api();
    let image = RunObjects { files: FilesFrom::Image("/plans/".to_owned()), ..run() };
    let claim = RunObjects { files: FilesFrom::Claim("plans".to_owned()), ..made() };
    for Object(object) in [run(), made(), image, claim, script(), with_run_file_claim()].iter().flat_map(all)
    {
        let read = document(&to_yaml(&object));
        assert_eq!(read, object);
        assert_eq!(schema.complaints(&read), Vec::<String>::new());
    }
}

#[test]
fn the_run_file_is_on_its_claim_under_the_name_of_the_run() {
    let Object(job) = with_run_file_claim().job().unwrap();
    let pod = &job["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let has = |list: &Value, entry: Value| list.as_array().unwrap().contains(&entry);
    assert!(has(
        &pod["volumes"],
        json!({"name": "run-files", "persistentVolumeClaim": {"claimName": "runs"}})
    ));
    assert!(has(&container["volumeMounts"], json!({"name": "run-files", "mountPath": "/run-files"})));
    let path = json!({"name": "PLIMSOLL_POD_RUN_FILE", "value": "/run-files/checkout.plimsoll"});
    assert!(has(&container["env"], path));
    let Object(without) = run().job().unwrap();
    assert!(!without.to_string().contains("run-files"));
}

#[test]
fn a_script_may_ask_anyone_and_has_the_exit_codes_of_k6() {
    let objects = all(&script());
    let of_kind = |kind: &str| objects.iter().find(|object| object.0["kind"] == kind).unwrap();
    let egress = of_kind("NetworkPolicy").0["spec"]["egress"].as_array().unwrap();
    assert!(egress.contains(&json!({})), "{egress:?}");
    let codes = &of_kind("Job").0["spec"]["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"];
    for code in [99, 108, 255] {
        assert!(codes.as_array().unwrap().contains(&json!(code)), "{codes}");
    }
}

#[test]
fn a_wrong_field_type_or_gap_is_found() {
    let schema = Schema::of_the_api();
    let Object(job) = run().job().unwrap();
    let broken = |at: &str, value: Value| {
        let mut job = job.clone();
        let (above, name) = at.rsplit_once('/').unwrap();
        job.pointer_mut(above).unwrap()[name] = value;
        schema.complaints(&job).join("; ")
    };
    let pod = "/spec/template/spec";
    for (at, value, complaint) in [
        (format!("{pod}/subDomain"), json!("x"), "spec.template.spec.subDomain: unknown"),
        ("/spec/completions".to_owned(), json!("3"), "spec.completions: no integer"),
        (
            format!("{pod}/containers"),
            json!([{"image": "x"}]),
            "spec.template.spec.containers[0].name: missing",
        ),
        (format!("{pod}/volumes"), json!({}), "spec.template.spec.volumes: no list"),
        (
            format!("{pod}/automountServiceAccountToken"),
            json!("false"),
            "automountServiceAccountToken: no boolean",
        ),
        ("/metadata/labels".to_owned(), json!({"a": 1}), "metadata.labels.a: no text"),
        ("/kind".to_owned(), json!("Jobs"), "the API has no Jobs of batch/v1"),
    ] {
        let found = broken(&at, value);
        assert!(found.contains(complaint), "{at}: {found:?}");
    }
}

#[test]
fn files_that_are_too_large_and_names_that_no_object_has_are_refused() {
    let mut large = run();
    let content: Vec<u8> = vec![255; 900_000];
    let open = BTreeMap::from([("users.bin".to_owned(), content.as_slice().into())]);
    large.files = FilesFrom::Objects { open, secret: BTreeMap::new() };
    let why = large.belongings().unwrap_err().to_string();
    assert!(why.contains("have 1200000 bytes") && why.contains("`--files-in claim:NAME`"), "{why}");
    assert!(why.ends_with("the largest is `users.bin`"), "{why}");
    let named = RunObjects { name: "No".to_owned(), ..run() };
    assert!(named.job().unwrap_err().to_string().starts_with("`No` is not a valid name"));
}

#[test]
fn text_survives_as_yaml() {
    for text in [
        "",
        " a",
        "a ",
        "yes",
        "No",
        "null",
        "1",
        "1.5",
        "-",
        "- a",
        "a: b",
        "a #b",
        "#a",
        "{a}",
        "a\nb",
        "a\nb\n",
        "\na\n",
        "  a\nb\n",
        "a\n\n",
        "a\n\n b\n",
        "\t",
        "a\tb\n",
        "é",
        "\u{2028}\n",
        "\u{1}",
        "\"\\",
        "a\r\nb\n",
        "*a",
        "&a",
        "!a",
        "%a",
        "@a",
        "`a",
        "a:",
        "0x1",
        "1e3",
        "~",
        "---",
        "=",
        "2026-01-01",
    ] {
        for value in
            [json!({"a": text}), json!([text]), json!({"a": [{"b": text, "c": 1}]}), json!({text: 1})]
        {
            assert_eq!(document(&to_yaml(&value)), value, "{}", to_yaml(&value));
        }
    }
}
