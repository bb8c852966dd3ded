//! Student's t distribution.

/// The quantile `p` (0.5 to below 1) of Student's t with `degrees` (at least 1) degrees of freedom.
///
/// By bisection on the distribution function, which for whole degrees has a closed form: Abramowitz and
/// Stegun, "Handbook of Mathematical Functions", 26.7.3 and 26.7.4.
///
/// ```
/// // 95 % two-sided with 9 degrees of freedom.
/// assert!((stats::t_quantile(0.975, 9) - 2.262157).abs() < 1e-5);
/// ```
pub fn t_quantile(p: f64, degrees: u32) -> f64 {
    let degrees = degrees.max(1);
    let two_sided = (2.0 * p - 1.0).clamp(0.0, 1.0 - 1e-12);
    let mut low = 0.0;
    let mut high = 1.0;
    while central_probability(high, degrees) < two_sided && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if central_probability(middle, degrees) < two_sided {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The probability that |T| is at least |`t`|, with `degrees` (at least 1) degrees of freedom: the complement of the same
/// closed form, so that it is exact to about 1e-15.
pub fn t_two_sided(t: f64, degrees: u32) -> f64 {
    (1.0 - central_probability(t.abs(), degrees.max(1))).clamp(0.0, 1.0)
}

/// The probability that |T| is at most `t`.
fn central_probability(t: f64, degrees: u32) -> f64 {
    let theta = (t / f64::from(degrees).sqrt()).atan();
    let (sin, cos) = theta.sin_cos();
    let is_odd = degrees % 2 == 1;
    let mut term = if is_odd { cos } else { 1.0 };
    let mut sum = if degrees == 1 { 0.0 } else { term };
    let mut k = if is_odd { 3 } else { 2 };
    while k < degrees {
        term *= cos * cos * f64::from(k - 1) / f64::from(k);
        sum += term;
        k += 2;
    }
    if is_odd { 2.0 / std::f64::consts::PI * (theta + sin * sum) } else { sin * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        // Two-sided 95 % and 99 %, NIST/SEMATECH e-Handbook, table 1.3.6.7.2.
        let table = [
            (0.975, 1, 12.706),
            (0.975, 2, 4.303),
            (0.975, 5, 2.571),
            (0.975, 30, 2.042),
            (0.995, 3, 5.841),
            (0.995, 10, 3.169),
            (0.95, 7, 1.895),
            (0.975, 100, 1.984),
        ];
        for (p, degrees, expected) in table {
            assert!((t_quantile(p, degrees) - expected).abs() < 0.0006, "{p} {degrees}");
        }
    }
}
