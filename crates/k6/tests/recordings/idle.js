// Thresholds of what never happens.
export const options = {
  iterations: 1,
  thresholds: { checks: ['rate>0.5'], group_duration: ['p(95)<1'], http_req_failed: ['rate<0.01'], 'checks{a:b}': ['rate>=0'], data_received: ['count<1'] },
};

export default function () {}

export function handleSummary(data) {
  console.log(JSON.stringify(data));
  throw new Error('so that k6 prints its own');
}
