use super::*;

fn sample(device: &str, value: f64) -> Sample<'_> {
    Sample {
        device_id: device.into(),
        kind: "temperature".into(),
        value,
        unit: "C".into(),
        priority: Priority::High,
        timestamp: "2026-01-01T00:00:00Z".into(),
        sequence: 0,
        metadata: Vec::new(),
    }
}

fn state(devices: &Devices, id: &str) -> Option<DeviceState> {
    devices.find(id).map(|(state, _)| state)
}

#[test]
fn the_state_machine_allows_these_transitions_and_no_other() {
    use Command::{Reset, Start, Stop};
    use DeviceState::{Error, Idle, Measuring, SafeState};
    let allowed = [
        (Idle, Start, Measuring),
        (Measuring, Start, Measuring),
        (Measuring, Stop, Idle),
        (Idle, Stop, Idle),
        (Error, Reset, Idle),
        (SafeState, Reset, Idle),
    ];
    for state in [Idle, Measuring, Error, SafeState] {
        for command in [Start, Stop, Reset] {
            let expect = allowed.iter().find(|(from, by, _)| (*from, *by) == (state, command));
            assert_eq!(state.after(command), expect.map(|(_, _, to)| *to), "{state:?} {command:?}");
        }
    }
    let message = CommandRefusal::State { command: Reset, state: Measuring }.to_string();
    assert_eq!(message, "the device is in Measuring: only one that is in Error or SafeState can be reset");
}

#[test]
fn a_device_reaches_its_configured_fault_only_while_it_measures() {
    let devices = Devices::new(10, 3);
    devices.accepted(vec![sample("a", 1.0); 5].iter());
    assert_eq!(state(&devices, "a"), Some(DeviceState::Idle));
    devices.command("a", Command::Start).unwrap();
    devices.accepted([sample("a", 1.0), sample("a", 2.0)].iter());
    assert_eq!(state(&devices, "a"), Some(DeviceState::Measuring));
    devices.command("a", Command::Start).unwrap();
    devices.accepted([sample("a", 3.0)].iter());
    assert_eq!(state(&devices, "a"), Some(DeviceState::SafeState));
    devices.command("a", Command::Reset).unwrap();
    devices.command("a", Command::Start).unwrap();
    assert_eq!(state(&devices, "a"), Some(DeviceState::Measuring));
}

#[test]
fn five_refusals_in_a_row_put_a_measuring_device_into_error() {
    let devices = Devices::new(10, 0);
    (0..9).for_each(|_| devices.refused("a"));
    assert_eq!(devices.find("a"), None, "a refused sample adds no device");
    devices.command("a", Command::Start).unwrap();
    (0..4).for_each(|_| devices.refused("a"));
    devices.accepted([sample("a", 1.0)].iter());
    (0..4).for_each(|_| devices.refused("a"));
    assert_eq!(state(&devices, "a"), Some(DeviceState::Measuring));
    devices.refused("a");
    assert_eq!(state(&devices, "a"), Some(DeviceState::Error));
}

#[test]
fn each_device_has_its_own_latest_sample_and_their_number_is_bounded() {
    let devices = Devices::new(2, 0);
    let samples = [sample("a", 1.0), sample("a", 2.0), sample("b", 3.0), sample("a", 4.0), sample("c", 5.0)];
    devices.accepted(samples.iter());
    let latest =
        |id| devices.find(id).and_then(|(_, latest)| latest).map(|latest| (latest.seq, latest.value));
    assert_eq!((latest("a"), latest("b"), latest("c")), (Some((3, 4.0)), Some((1, 3.0)), None));
    assert_eq!(
        (devices.count(), devices.command("c", Command::Start)),
        (2, Err(CommandRefusal::TooManyDevices))
    );
}
