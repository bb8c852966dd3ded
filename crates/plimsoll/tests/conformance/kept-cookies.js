// options noCookiesReset
import http from 'k6/http';

export const options = { iterations: 2, noCookiesReset: true };

export default function () {
  const r = http.get(`${__ENV.BASE}/x`);
  console.log(__ITER, JSON.stringify(r.json('headers.cookie') || r.json('headers.Cookie') || null));
  http.get(`${__ENV.BASE}/set-cookie`);
}
