//! A bound on the requests of one device at once, so that no device takes the memory of all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The same bound for each device. Clones share the counts.
#[derive(Debug, Clone)]
pub struct DeviceLimit {
    max: usize,
    /// Only devices with requests are in it.
    requests: Arc<Mutex<HashMap<String, usize>>>,
}

/// One request of a device, ended when this is dropped.
#[derive(Debug)]
pub struct DeviceSlot {
    limit: DeviceLimit,
    device: String,
}

/// The device has as many requests as may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceBusy;

impl DeviceLimit {
    /// At most `max` requests of each device at once.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { max, requests: Arc::default() }
    }

    /// A slot for a request of this device.
    ///
    /// # Errors
    /// When the device has none left.
    pub fn enter(&self, device: &str) -> Result<DeviceSlot, DeviceBusy> {
        let mut requests = self.lock();
        let count = requests.entry(device.to_owned()).or_default();
        if *count >= self.max {
            return Err(DeviceBusy);
        }
        *count += 1;
        Ok(DeviceSlot { limit: self.clone(), device: device.to_owned() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DeviceSlot {
    fn drop(&mut self) {
        let mut requests = self.limit.lock();
        if let Some(count) = requests.get_mut(&self.device) {
            *count -= 1;
            if *count == 0 {
                requests.remove(&self.device);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_has_a_bound_of_its_own_and_nothing_is_kept_of_devices_without_requests() {
        let limit = DeviceLimit::new(2);
        let held = [limit.enter("a").unwrap(), limit.enter("a").unwrap()];
        assert!(limit.enter("a").is_err());
        assert!(limit.enter("b").is_ok());
        drop(held);
        assert!(limit.enter("a").is_ok());
        assert!(limit.lock().is_empty());
    }
}
