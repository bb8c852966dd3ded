//! What the cluster says of a run's Job and pods at one moment. Pure: from the API's answer to what matters.

use serde_json::Value;

/// The annotation of a pod with its index.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// One moment of a run in a cluster.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Whether the Job is there and is not being deleted.
    pub has_job: bool,
    /// Why Kubernetes gave the Job up, if it did.
    pub failed: Option<String>,
    /// The pods, by index.
    pub pods: Vec<Pod>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// The name of the object.
    pub name: String,
    /// Its index in the Job; the pod with index 0 coordinates.
    pub index: u16,
    /// How far it is.
    pub state: PodState,
}

/// How far a pod is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodState {
    /// It does not run yet; with the reason, if waiting may not remove it.
    Waiting(Option<Obstacle>),
    /// Its container runs.
    Running,
    /// With its exit code, where it is known.
    Ended(Option<u8>),
}

/// Why a pod does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// One word, such as `ImagePullBackOff`.
    pub reason: String,
    /// A sentence; may be empty.
    pub message: String,
}

/// Reasons that do not go away by waiting.
const FINAL: [&str; 4] = ["ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName", "CrashLoopBackOff"];
/// What a container waits for before anything can be wrong.
const USUAL: [&str; 2] = ["ContainerCreating", "PodInitializing"];

impl Obstacle {
    /// Whether waiting does not remove it.
    pub fn is_final(&self) -> bool {
        FINAL.contains(&self.reason.as_str())
    }
}

impl Snapshot {
    /// From a list of the Job and its pods.
    pub fn from_list(list: &Value) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for item in list["items"].as_array().into_iter().flatten() {
            let is_going = item["metadata"]["deletionTimestamp"].is_string();
            match item["kind"].as_str() {
                Some("Job") => {
                    snapshot.has_job |= !is_going;
                    snapshot.failed = condition(item, "Failed", "True").map(|found| found.text());
                }
                Some("Pod") => snapshot.pods.extend(Pod::from_object(item)),
                _ => {}
            }
        }
        snapshot.pods.sort_by_key(|pod| pod.index);
        snapshot
    }

    /// How many pods run or have ended.
    pub fn started(&self) -> usize {
        self.pods.iter().filter(|pod| !matches!(pod.state, PodState::Waiting(_))).count()
    }

    /// The pods that have an obstacle.
    pub fn obstacles(&self) -> impl Iterator<Item = (&Pod, &Obstacle)> {
        self.pods.iter().filter_map(|pod| match &pod.state {
            PodState::Waiting(Some(obstacle)) => Some((pod, obstacle)),
            _ => None,
        })
    }

    pub fn coordinator(&self) -> Option<&Pod> {
        self.pods.iter().find(|pod| pod.index == 0)
    }
}

impl Obstacle {
    /// Reason and message.
    pub fn text(&self) -> String {
        match self.message.as_str() {
            "" => self.reason.clone(),
            message => format!("{}: {message}", self.reason),
        }
    }
}

impl Pod {
    fn from_object(pod: &Value) -> Option<Pod> {
        let index = pod["metadata"]["annotations"][INDEX].as_str()?.parse().ok()?;
        let name = pod["metadata"]["name"].as_str()?.to_owned();
        let state = &pod["status"]["containerStatuses"][0]["state"];
        let state = match (pod["status"]["phase"].as_str(), state) {
            (Some("Running"), _) if state["running"].is_object() => PodState::Running,
            (Some("Succeeded" | "Failed"), _) => {
                let code = state["terminated"]["exitCode"].as_u64();
                PodState::Ended(code.and_then(|code| u8::try_from(code).ok()))
            }
            _ if state["terminated"].is_object() => PodState::Ended(
                state["terminated"]["exitCode"].as_u64().and_then(|code| u8::try_from(code).ok()),
            ),
            _ => PodState::Waiting(
                waiting(&state["waiting"]).or_else(|| condition(pod, "PodScheduled", "False")),
            ),
        };
        Some(Pod { name, index, state })
    }
}

fn waiting(waiting: &Value) -> Option<Obstacle> {
    let reason = waiting["reason"].as_str().filter(|reason| !USUAL.contains(reason))?;
    Some(Obstacle {
        reason: reason.to_owned(),
        message: waiting["message"].as_str().unwrap_or_default().to_owned(),
    })
}

/// Reason and message of a condition that has this status.
fn condition(object: &Value, kind: &str, status: &str) -> Option<Obstacle> {
    let conditions = object["status"]["conditions"].as_array()?;
    let found =
        conditions.iter().find(|condition| condition["type"] == kind && condition["status"] == status)?;
    let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
    Some(Obstacle { reason: text("reason"), message: text("message") })
}

/// Why no pods are made, by the events of a Job: the last reason.
pub fn refusal(events: &Value) -> Option<String> {
    let items = events["items"].as_array()?;
    let last =
        items.iter().rev().find(|event| event["type"] == "Warning" && event["reason"] == "FailedCreate")?;
    last["message"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(index: &str, status: Value) -> Value {
        json!({"kind": "Pod", "metadata": {"name": format!("x-{index}-abc"), "annotations": {INDEX: index}}, "status": status})
    }

    fn only(status: Value) -> PodState {
        Snapshot::from_list(&json!({"items": [pod("0", status)]})).pods.remove(0).state
    }

    #[test]
    fn a_pod_that_does_not_run_has_its_reason() {
        let scheduled = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"});
        let PodState::Waiting(Some(found)) = only(json!({"phase": "Pending", "conditions": [scheduled]}))
        else {
            panic!()
        };
        assert_eq!((found.text().as_str(), found.is_final()), ("Unschedulable: 0/1 nodes", false));
        let container = |state: Value| json!({"phase": "Pending", "containerStatuses": [{"state": state}]});
        let back_off = json!({"waiting": {"reason": "ImagePullBackOff", "message": "not found"}});
        let PodState::Waiting(Some(found)) = only(container(back_off)) else { panic!() };
        assert!(found.is_final());
        let creating = json!({"waiting": {"reason": "ContainerCreating"}});
        assert_eq!(only(container(creating)), PodState::Waiting(None));
        assert_eq!(only(json!({"phase": "Pending"})), PodState::Waiting(None));
    }

    #[test]
    fn pods_are_in_order_and_ended_ones_have_their_code() {
        let ended =
            json!({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]});
        let runs = json!({"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]});
        let failed = json!({"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": ""});
        let job = json!({"kind": "Job", "metadata": {}, "status": {"conditions": [failed]}});
        let stray = json!({"kind": "Pod", "metadata": {"name": "other"}});
        let snapshot = Snapshot::from_list(&json!({"items": [pod("1", runs), stray, pod("0", ended), job]}));
        assert_eq!(
            (snapshot.has_job, snapshot.failed.as_deref(), snapshot.started()),
            (true, Some("DeadlineExceeded"), 2)
        );
        assert_eq!(snapshot.coordinator().map(|pod| &pod.state), Some(&PodState::Ended(Some(3))));
        let gone = json!({"kind": "Job", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        assert!(!Snapshot::from_list(&json!({"items": [gone]})).has_job);
    }

    #[test]
    fn a_quota_is_in_the_events() {
        let event =
            |reason: &str, message: &str| json!({"type": "Warning", "reason": reason, "message": message});
        let events = json!({"items": [event("FailedCreate", "exceeded quota: q"), event("Other", "x")]});
        assert_eq!(refusal(&events).as_deref(), Some("exceeded quota: q"));
        assert_eq!(refusal(&json!({"items": []})), None);
    }
}
