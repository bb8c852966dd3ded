//! A simulated device: what it sends at each of its ticks is a function of its number, the seed and the tick.

use kit::clock::UtcMs;
use serde_json::{Value, json};

/// A device with a fault has it during the last ticks of every cycle.
const CYCLE_TICKS: u64 = 30;
const FAULT_TICKS: u64 = 10;
/// Samples that a device with bursts sends at once.
const BURST: usize = 20;

/// What is wrong with a device from time to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It sends values that are refused as invalid, so that a measuring device gets into `Error`.
    Invalid,
    /// Its value does not change.
    Stuck,
    /// Its values are ten times too high, with priority `HIGH`.
    Spikes,
    /// It sends nothing.
    Silent,
    /// It sends twenty samples at once, with priority `LOW`.
    Bursts,
}

const FAULTS: [Fault; 5] = [Fault::Invalid, Fault::Stuck, Fault::Spikes, Fault::Silent, Fault::Bursts];

/// Type, unit, mean and amplitude of what is measured.
const KINDS: [(&str, &str, f64, f64); 4] = [
    ("temperature", "C", 21.0, 4.0),
    ("pressure", "hPa", 1013.0, 12.0),
    ("humidity", "%", 45.0, 15.0),
    ("vibration", "mm/s", 2.0, 1.5),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatedDevice {
    pub id: String,
    /// Its fault; `None` for a device that works.
    pub fault: Option<Fault>,
    number: u64,
    seed: u64,
}

impl SimulatedDevice {
    /// The device with this number, of which so many per cent have a fault.
    #[must_use]
    pub fn new(number: u32, faulty_percent: u32, seed: u64) -> Self {
        let number = u64::from(number);
        // Spread evenly: of every hundred devices, so many.
        let percent = u64::from(faulty_percent);
        let before = number * percent / 100;
        let is_faulty = (number + 1) * percent / 100 > before;
        let fault = is_faulty.then(|| FAULTS[before as usize % FAULTS.len()]);
        Self { id: format!("sim-{:03}", number + 1), fault, number, seed }
    }

    /// Whether its fault shows at this tick.
    #[must_use]
    pub fn is_failing(&self, tick: u64) -> bool {
        self.fault.is_some() && tick % CYCLE_TICKS >= CYCLE_TICKS - FAULT_TICKS
    }

    /// Whether its fault has just ended, so that an operator would put it back to work.
    #[must_use]
    pub fn has_recovered(&self, tick: u64) -> bool {
        self.fault.is_some() && tick > 0 && tick.is_multiple_of(CYCLE_TICKS)
    }

    /// The samples that it sends at this tick.
    #[must_use]
    pub fn samples(&self, tick: u64, now: UtcMs) -> Vec<Value> {
        let fault = self.fault.filter(|_| self.is_failing(tick));
        let value = self.value(tick);
        match fault {
            None => vec![self.sample(value, "MEDIUM", now)],
            Some(Fault::Invalid) => vec![self.sample(1e300, "MEDIUM", now)],
            Some(Fault::Stuck) => vec![self.sample(self.value(tick - tick % CYCLE_TICKS), "MEDIUM", now)],
            Some(Fault::Spikes) => vec![self.sample(value * 10.0, "HIGH", now)],
            Some(Fault::Silent) => Vec::new(),
            Some(Fault::Bursts) => vec![self.sample(value, "LOW", now); BURST],
        }
    }

    fn kind(&self) -> (&'static str, &'static str, f64, f64) {
        KINDS[self.number as usize % KINDS.len()]
    }

    /// A slow wave with noise on it.
    fn value(&self, tick: u64) -> f64 {
        let (_, _, mean, amplitude) = self.kind();
        let phase = unit_interval(self.seed ^ self.number);
        let wave = (std::f64::consts::TAU * (tick as f64 / 120.0 + phase)).sin();
        let noise = unit_interval(self.seed.wrapping_add(self.number << 32).wrapping_add(tick)) - 0.5;
        ((mean + amplitude * (wave + 0.2 * noise)) * 100.0).round() / 100.0
    }

    fn sample(&self, value: f64, priority: &str, now: UtcMs) -> Value {
        let (kind, unit, ..) = self.kind();
        json!({
            "device_id": self.id, "type": kind, "value": value, "unit": unit, "priority": priority,
            "timestamp": now.to_string(), "metadata": { "location": format!("hall {}", self.number / 10 + 1) },
        })
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014), as a number in [0, 1).
fn unit_interval(state: u64) -> f64 {
    let mut mixed = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intake::{self, BodyFormat, Limits};

    const NOW: UtcMs = UtcMs(1_780_000_000_000);

    fn faulty(fault: Fault) -> SimulatedDevice {
        let devices = (0..100).map(|number| SimulatedDevice::new(number, 50, 7));
        devices.into_iter().find(|device| device.fault == Some(fault)).unwrap()
    }

    #[test]
    fn as_many_devices_have_faults_as_are_asked_for_and_each_fault_occurs() {
        for percent in [0, 1, 20, 33, 100] {
            let devices = (0..100).map(|number| SimulatedDevice::new(number, percent, 7));
            let faulty = devices.filter(|device| device.fault.is_some()).count();
            assert_eq!(faulty, percent as usize);
        }
        FAULTS.iter().for_each(|fault| assert_eq!(faulty(*fault).fault, Some(*fault)));
    }

    #[test]
    fn samples_are_repeatable_and_valid_except_those_of_one_fault() {
        let limits = Limits { batch: 1000, value: 1e9 };
        for number in 0..100 {
            let device = SimulatedDevice::new(number, 50, 7);
            for tick in 0..60 {
                let samples = device.samples(tick, NOW);
                assert_eq!(samples, SimulatedDevice::new(number, 50, 7).samples(tick, NOW));
                let is_invalid = device.fault == Some(Fault::Invalid) && device.is_failing(tick);
                for sample in samples {
                    let body = sample.to_string();
                    let read = intake::read(BodyFormat::Json, body.as_bytes(), limits).unwrap();
                    assert_eq!(read[0].is_err(), is_invalid, "{body}");
                }
            }
        }
    }

    #[test]
    fn each_fault_shows_in_the_last_third_of_a_cycle() {
        let sent = |fault, tick| faulty(fault).samples(tick, NOW);
        assert_eq!(sent(Fault::Silent, 19).len(), 1);
        assert_eq!((sent(Fault::Silent, 20).len(), sent(Fault::Bursts, 20).len()), (0, 20));
        assert_eq!(sent(Fault::Stuck, 20), sent(Fault::Stuck, 29));
        assert_ne!(sent(Fault::Stuck, 1), sent(Fault::Stuck, 2));
        assert_eq!(sent(Fault::Spikes, 25)[0]["priority"], "HIGH");
        assert!(faulty(Fault::Invalid).has_recovered(30) && !faulty(Fault::Invalid).has_recovered(0));
    }
}
