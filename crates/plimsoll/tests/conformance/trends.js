// Trend with isTime, summaryTrendStats, summaryTimeUnit: what handleSummary is given
import { Trend } from 'k6/metrics';

const took = new Trend('took', true);
const size = new Trend('size');

export const options = {
  iterations: 3,
  summaryTrendStats: ['avg', 'p(99.99)', 'count', 'max'],
  summaryTimeUnit: 'ms',
  thresholds: { took: ['p(50)<=2010', 'max==3000'], size: ['avg==2', 'p(100)<3'] },
};

export default function () {
  took.add((__ITER + 1) * 1000);
  size.add(__ITER + 1);
}

export function handleSummary(data) {
  for (const name of ['took', 'size']) {
    const { type, contains, values } = data.metrics[name];
    console.log(name, type, contains, Object.keys(values).sort().join(), values.avg, values.max, values.count);
  }
  console.log(JSON.stringify(data.options.summaryTrendStats), data.options.summaryTimeUnit, data.options.noColor);
  return {};
}
