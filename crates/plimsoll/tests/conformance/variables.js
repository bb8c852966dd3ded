// variables: K6_VUS=2 K6_ITERATIONS=4 K6_NO_TEARDOWN=true K6_USER_AGENT=own/2.0
// K6_* variables come before options of the script
import exec from 'k6/execution';
import http from 'k6/http';

export const options = { vus: 1, iterations: 1, userAgent: 'own/1.0' };

export default function () {
  const r = http.get(`${__ENV.BASE}/a`);
  console.log(exec.scenario.iterationInTest, r.json('headers.user-agent') || r.json('headers.User-Agent'), typeof __ENV.K6_VUS);
}

export function teardown() {
  console.log('teardown');
}
