// Virtual users of which 5 in 100 have an iteration under way: a request, a check and half a second. Each is used.
import http from 'k6/http';
import { check, sleep } from 'k6';

const users = Number(__ENV.USERS);

export const options = {
  thresholds: { checks: ['rate==1'] },
  scenarios: {
    users: {
      executor: 'constant-arrival-rate',
      rate: users / 10,
      duration: `${__ENV.SECONDS}s`,
      preAllocatedVUs: users,
    },
  },
};

export default function () {
  const response = http.get(`http://${__ENV.TARGET}/`);
  check(response, { 'status is 200': (r) => r.status === 200 });
  sleep(0.5);
}
