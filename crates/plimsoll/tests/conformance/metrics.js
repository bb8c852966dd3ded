// Counter, Gauge, Rate, Trend; thresholds: aggregations, tag selectors
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';

const items = new Counter('items');
const depth = new Gauge('depth');
const good = new Rate('good');
const size = new Trend('size');
const took = new Trend('took', true);
const bytes = new Counter('bytes', false);

export const options = {
  iterations: 10,
  thresholds: {
    items: ['count==30', 'rate>0'],
    'items{kind:a}': ['count==20'],
    'items{kind:b}': ['count<5'],
    depth: ['value==9'],
    good: ['rate==0.5', 'rate<0.4'],
    size: ['min==0', 'max==90', 'avg==45', 'p(90)<=90', 'med<60'],
    'size{kind:none}': ['max==0'],
    iterations: ['count==10'],
  },
};

export default function () {
  items.add(2, { kind: 'a' });
  items.add(1, { kind: 'b' });
  depth.add(__ITER);
  good.add(__ITER % 2);
  good.add(__ITER % 2 === 0);
  size.add(__ITER * 10);
  took.add(1.5);
  bytes.add(1000);
}
