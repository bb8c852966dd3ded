//! The Job: one pod for each index, which is started once and never again.

use serde_json::{Value, json};

use super::run::RunObjects;
use super::{
    CONTAINER, DATA_FOLDER, KEYS_ENTRY, KEYS_FILE, RUN_FILE_VARIABLE, RUN_FILES_FOLDER, RUN_LABEL,
    WORKER_PORT,
};

/// The unprivileged user of the image.
const USER: u32 = 65532;
/// How long pod 0 waits for the run file to be fetched.
const FETCH_LIMIT_S: u32 = 1_800;
/// How long a Job that has ended is kept.
const KEPT_S: u32 = 300;
/// The exit codes of a run, besides that of success: of a plan, and from 99 on k6's.
const COORDINATOR_EXITS: [u8; 14] = [1, 2, 3, 4, 5, 99, 100, 101, 104, 105, 107, 108, 110, 255];
/// How long a pod that is deleted may take to drain its requests and close the run file.
const GRACE_S: u32 = 60;

pub(super) fn spec(run: &RunObjects) -> Value {
    json!({
        "completions": run.pods,
        "parallelism": run.pods,
        "completionMode": "Indexed",
        // A pod that is started again would offer arrivals that were due before: its part is missing, and the report says so.
        "backoffLimitPerIndex": 0,
        "podReplacementPolicy": "Failed",
        // Once the coordinator has ended, no pod has anything left to do. Workers end with other codes, also when they are
        // killed: then the others go on.
        "podFailurePolicy": {"rules": [{
            "action": "FailJob",
            "onExitCodes": {"containerName": CONTAINER, "operator": "In", "values": COORDINATOR_EXITS},
        }]},
        "activeDeadlineSeconds": u64::from(run.start_limit_s) * 2 + u64::from(run.run_limit_s) + u64::from(FETCH_LIMIT_S),
        "ttlSecondsAfterFinished": KEPT_S,
        "template": {"metadata": {"labels": run.labels()}, "spec": pod(run)},
    })
}

fn pod(run: &RunObjects) -> Value {
    let keys = json!({"name": "keys", "secret": {
        "secretName": run.secret.name(&run.name),
        "items": [{"key": KEYS_ENTRY, "path": KEYS_ENTRY}],
        "defaultMode": 0o440,
    }});
    let mut volumes = vec![keys, json!({"name": "data", "emptyDir": {}})];
    volumes.extend(run.files.volume(&run.name, run.secret.name(&run.name)).map(|(volume, _)| volume));
    volumes.extend(
        run.run_file_claim
            .iter()
            .map(|claim| json!({"name": "run-files", "persistentVolumeClaim": {"claimName": claim}})),
    );
    json!({
        "subdomain": run.name,
        "restartPolicy": "Never",
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": GRACE_S,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        // Pods on one node would compete for its processors, and be seen from one address.
        "topologySpreadConstraints": [{
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {RUN_LABEL: run.name}},
        }],
        "containers": [container(run)],
        "volumes": volumes,
    })
}

fn container(run: &RunObjects) -> Value {
    let mut arguments: Vec<String> =
        ["pod", "offer", "--pods", &run.pods.to_string(), "--service", &run.name, "--keys", KEYS_FILE]
            .map(str::to_owned)
            .into();
    arguments.extend(["--start-limit".to_owned(), run.start_limit_s.to_string()]);
    arguments.extend(["--fetch-limit".to_owned(), FETCH_LIMIT_S.to_string(), "--".to_owned()]);
    arguments.push(run.files.path(&run.plan));
    arguments.extend(run.arguments.iter().cloned());
    let secret = run.secret.name(&run.name);
    let of_secret =
        |name: &&str| json!({"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": name}}});
    let mut environment: Vec<Value> = run.secret.variables().iter().map(of_secret).collect();
    environment.push(json!({"name": "TMPDIR", "value": DATA_FOLDER}));
    if run.run_file_claim.is_some() {
        let path = format!("{RUN_FILES_FOLDER}/{}.plimsoll", run.name);
        environment.push(json!({"name": RUN_FILE_VARIABLE, "value": path}));
    }
    let keys_folder = KEYS_FILE.trim_end_matches(KEYS_ENTRY).trim_end_matches('/');
    let mut mounts = vec![
        json!({"name": "keys", "mountPath": keys_folder, "readOnly": true}),
        json!({"name": "data", "mountPath": DATA_FOLDER}),
    ];
    mounts.extend(run.files.volume(&run.name, run.secret.name(&run.name)).map(|(_, mount)| mount));
    if run.run_file_claim.is_some() {
        mounts.push(json!({"name": "run-files", "mountPath": RUN_FILES_FOLDER}));
    }
    json!({
        "name": CONTAINER,
        "image": run.image,
        "command": ["plimsoll"],
        "args": arguments,
        "workingDir": DATA_FOLDER,
        "env": environment,
        "ports": [{"name": "worker", "containerPort": WORKER_PORT}],
        // No limit of CPU: a generator that is throttled is late, and the judge would say so.
        "resources": {
            "requests": {"cpu": run.cpu, "memory": run.memory},
            "limits": {"memory": run.memory},
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    })
}
