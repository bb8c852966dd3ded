// check with a function that throws: it has failed, and so has the iteration
import { check, group } from 'k6';
import http from 'k6/http';

export const options = { iterations: 3, thresholds: { checks: ['rate>0.5'], 'checks{check:throws}': ['rate==0'] } };

export default function () {
  if (__ITER === 1) {
    try {
      group('caught', () => check({}, { 'first holds': () => true, throws: (v) => v.none.deep === 1, after: () => true }));
    } catch (e) {
      console.log('caught', e instanceof TypeError);
    }
    return;
  }
  check(http.get(`${__ENV.BASE}/text`), { 'is JSON': (r) => r.json('a') === 1 });
  console.log('never');
}
