// exec.vu.metrics.tags, exec.vu.tags: tags of all that a virtual user counts
import exec from 'k6/execution';
import http from 'k6/http';
import { check } from 'k6';
import { Counter } from 'k6/metrics';

const made = new Counter('made');

export const options = {
  iterations: 2,
  tags: { run: 'own' },
  thresholds: {
    'made{user:tagged}': ['count==2'],
    'made{user:other}': ['count==2'],
    'made{number:7}': ['count==2'],
    'made{run:own}': ['count==5'],
    'http_reqs{user:tagged}': ['count==2'],
    'checks{user:tagged}': ['rate==1'],
    'iterations{user:tagged}': ['count==2'],
  },
};

export default function () {
  if (__ITER === 0) {
    made.add(1);
    made.add(1);
  }
  exec.vu.metrics.tags.user = 'tagged';
  made.add(1);
  made.add(1, { user: 'other' });
  exec.vu.tags.number = 7;
  check(http.get(`${__ENV.BASE}/a`), { fine: (r) => r.status === 200 });
  console.log(exec.vu.tags.user, exec.vu.metrics.tags.number, exec.vu.tags.run, exec.vu.tags.scenario);
  try {
    exec.vu.tags.wrong = { a: 1 };
  } catch (e) {
    console.log(e.message);
  }
}
