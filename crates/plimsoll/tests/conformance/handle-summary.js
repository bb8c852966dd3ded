// handleSummary: the shape of its data, files that it writes
import { check, group } from 'k6';
import http from 'k6/http';
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';

const made = [new Counter('items'), new Gauge('depth'), new Rate('good'), new Trend('took', true)];

export const options = {
  iterations: 2,
  thresholds: { items: ['count==2'], 'items{kind:a}': ['count>5'] },
  summaryTrendStats: ['min', 'med', 'p(99.9)', 'count'],
};

export default function () {
  made.forEach((metric) => metric.add(1));
  group('one', () => check(http.get(`${__ENV.BASE}/a`), { fine: (r) => r.status === 200 }));
}

// Whether a request took time at all differs from run to run; that it is a number does not.
function shape(value, path, lines) {
  if (path.startsWith('data.metrics.vus')) {
    // Short runs have none.
  } else if (Array.isArray(value)) {
    value.forEach((one, index) => shape(one, `${path}[${index}]`, lines));
  } else if (value !== null && typeof value === 'object') {
    Object.keys(value).sort().forEach((key) => shape(value[key], `${path}.${key}`, lines));
  } else if (value !== undefined) {
    lines.push(`${path}: ${typeof value === 'number' ? 'number' : JSON.stringify(value)}`);
  }
  return lines;
}

export function handleSummary(data) {
  shape(data, 'data', []).forEach((line) => console.log(line));
  return { stdout: 'own summary\n', 'own.json': JSON.stringify(data.metrics.items.values) };
}
