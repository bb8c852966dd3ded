// setup, teardown, what they hand on
import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 2, iterations: 4 };

export function setup() {
  const r = http.get(`${__ENV.BASE}/setup`);
  console.log('setup', __VU);
  return { path: r.json('path'), list: [1, 2], gone: undefined };
}

export default function (data) {
  check(data, { 'data came': (d) => d.path === '/setup' && d.list.length === 2 && d.gone === null });
}

export function teardown(data) {
  console.log('teardown', data.path, data.list.join(), data.gone);
}
