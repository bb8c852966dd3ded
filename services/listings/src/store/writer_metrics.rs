//! Metrics of the writers, the same in both stores.

use kit::metrics::Metrics;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

use crate::write::{Changes, Direction};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MovementLabel {
    movement_type: &'static str,
}

/// What the writers count besides their groups. Clones share it.
#[derive(Clone)]
pub(super) struct WriterMetrics {
    movements: Family<MovementLabel, Counter>,
    units: Family<MovementLabel, Counter>,
}

impl WriterMetrics {
    pub(super) fn register(metrics: &Metrics) -> Self {
        let writer_metrics = Self { movements: Family::default(), units: Family::default() };
        let registered = writer_metrics.clone();
        metrics.register(|registry| {
            let help = "Stock movements recorded, by type";
            registry.register("inventory_movements", help, registered.movements);
            let help = "Units moved by stock movements, by type; for adjustments the difference";
            registry.register("inventory_units", help, registered.units);
        });
        writer_metrics
    }

    pub(super) fn count(&self, committed: &Changes) {
        for record in &committed.movements {
            let label = MovementLabel { movement_type: Direction::as_str(record.direction) };
            self.movements.get_or_create(&label).inc();
            self.units.get_or_create(&label).inc_by(record.stock.before.abs_diff(record.stock.after).into());
        }
    }
}
