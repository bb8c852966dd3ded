// options discardResponseBodies
import http from 'k6/http';
import { check } from 'k6';

export const options = { iterations: 1, discardResponseBodies: true };

export default function () {
  const r = http.get(`${__ENV.BASE}/object`);
  console.log(r.status, r.body, r.headers['X-Twice']);
  try {
    console.log(r.json());
  } catch (e) {
    console.log('no JSON');
  }
  const [kept, gone] = http.batch([['GET', `${__ENV.BASE}/a`, null, { responseType: 'text' }], `${__ENV.BASE}/a`]);
  console.log(kept.json('path'), gone.body);
  check(r, { 'has no body': (one) => one.body === null });
}
