// params: tags, name, timeout, redirects, responseCallback, throw; expectedStatuses, setResponseCallback; thresholds by tags
import http from 'k6/http';
import { check } from 'k6';

export const options = {
  iterations: 2,
  thresholds: {
    'http_reqs{name:item}': ['count==4'],
    'http_reqs{kind:own}': ['count==2'],
    'http_reqs{status:404}': ['count==2'],
    'http_req_failed{kind:expected}': ['rate==0'],
    http_req_failed: ['rate<0.9'],
  },
};

const base = __ENV.BASE;

export default function () {
  http.get(`${base}/item/${__ITER}`, { tags: { name: 'item', kind: 'own' } });
  http.get(http.url`${base}/other/${__ITER}`);
  http.get(`${base}/item/x`, { tags: { name: 'item' } });
  http.get(`${base}/status/404`, { responseCallback: http.expectedStatuses(404, { min: 500, max: 599 }), tags: { kind: 'expected' } });
  const stopped = http.get(`${base}/redirect`, { redirects: 0 });
  const followed = http.get(`${base}/redirect`);
  console.log(stopped.status, followed.status, followed.url === `${base}/landed`, followed.request.method);
  const late = http.get(`${base}/slow`, { timeout: '50ms' });
  console.log(late.status, late.error_code, late.error, late.body);
  try {
    http.get(`${base}/slow`, { timeout: 50, throw: true });
  } catch (e) {
    console.log('thrown');
  }
  http.setResponseCallback(http.expectedStatuses(500));
  check(http.get(`${base}/status/500`), { 'a status that is expected': (r) => r.status === 500 });
  http.setResponseCallback(null);
  http.get(`${base}/status/500`);
}
