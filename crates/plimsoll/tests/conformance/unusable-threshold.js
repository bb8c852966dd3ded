// a threshold of a metric that has no such aggregation: exit code 104
export const options = { iterations: 1, thresholds: { http_reqs: ['p(95)<100'] } };

export default function () {}
