import { Counter, Rate, Trend } from 'k6/metrics';

const used = new Counter('used');
new Counter('unused');
new Trend('unused_trend');
new Rate('unused_rate');

export const options = {
  thresholds: {
    used: [],
    'used{kind:a}': [],
    'used{kind:b}': [],
    unused: [],
    unused_trend: [],
    'unused_trend{kind:a}': [],
    unused_rate: [],
    http_reqs: [],
    'http_req_duration{status:200}': [],
  },
};

export default function () {
  used.add(1, { kind: 'a' });
}
