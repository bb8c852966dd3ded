// options rps: requests of all virtual users; approximately: http_reqs iterations http_req_failed
import http from 'k6/http';

export const options = {
  vus: 3,
  duration: '2s',
  rps: 10,
  thresholds: { http_reqs: ['count>=18', 'count<=24'] },
};

export default function () {
  http.get(`${__ENV.BASE}/a`);
}
