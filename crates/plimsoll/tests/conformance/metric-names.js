// names and values that metrics refuse
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';

export const options = { iterations: 1 };

const lines = [];

function attempt(name, made) {
  try {
    lines.push(`${name} ${typeof made()}`);
  } catch (e) {
    lines.push(`${name} threw`);
  }
}

for (const name of ['plain', 'a b', '1st', '', 'x'.repeat(128), 'x'.repeat(200), 'under_score', 'dotted.name']) {
  attempt(`Counter ${name}`, () => new Counter(name));
}
attempt('same name, other kind', () => new Trend('plain'));
const kept = [new Counter('plain'), new Gauge('depth'), new Rate('good'), new Trend('took')];

export default function () {
  for (const value of [1, '2', true, null, undefined, NaN, {}, 'text']) {
    for (const metric of kept) {
      attempt(`${metric.name} ${String(value)}`, () => metric.add(value));
    }
  }
  lines.forEach((line) => console.log(line));
}
