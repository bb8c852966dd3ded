//! What columns of a line are drawn of.

/// The heights of a column of a plot, the lowest first.
pub(super) const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Values as columns between nothing and the highest of them; a column is blank where there is none.
pub(super) fn columns_of(values: &[Option<f64>]) -> String {
    columns_up_to(None, values)
}

/// The same between nothing and `top`, if that is known.
pub(super) fn columns_up_to(top: Option<f64>, values: &[Option<f64>]) -> String {
    let most = top.unwrap_or_else(|| values.iter().flatten().copied().fold(0.0, f64::max));
    let level =
        |value: f64| ((value / most * LEVELS.len() as f64).ceil() as usize).clamp(1, LEVELS.len()) - 1;
    let column = |value: &Option<f64>| value.filter(|_| most > 0.0).map_or(' ', |value| LEVELS[level(value)]);
    values.iter().map(column).collect()
}
