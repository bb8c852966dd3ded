// Response: status, status_text, url, proto, body, json, headers, error, error_code, request, timings; responseType
import http from 'k6/http';

export const options = { iterations: 1 };

export default function () {
  const r = http.get(`${__ENV.BASE}/object`);
  console.log(r.status, r.status_text, r.proto, r.body, r.error, r.error_code);
  console.log(r.url === `${__ENV.BASE}/object`, r.headers['Content-Type'], r.headers['X-Twice']);
  console.log(JSON.stringify(Object.entries(r.json()).sort()), r.json('name'), r.json('list.1'), r.json('list.#'), r.json('deep.a.b'), r.json('none'));
  console.log(Object.keys(r.timings).sort().join());
  const numbers = Object.values(r.timings).every((ms) => typeof ms === 'number' && ms >= 0);
  console.log(numbers, r.timings.duration >= r.timings.waiting, r.request.method, r.request.url === r.url);
  const binary = http.get(`${__ENV.BASE}/object`, { responseType: 'binary' });
  console.log(binary.body instanceof ArrayBuffer, binary.body.byteLength);
  const none = http.get(`${__ENV.BASE}/object`, { responseType: 'none' });
  console.log(none.body, none.status);
  for (const status of [404, 500]) {
    const failed = http.get(`${__ENV.BASE}/status/${status}`);
    console.log(failed.status, failed.status_text, failed.error, failed.error_code);
  }
  console.log(http.get(`${__ENV.BASE}/text`).json('a'), none.status);
  try {
    console.log(none.json('a'));
  } catch (e) {
    console.log('no body');
  }
  try {
    http.get(`${__ENV.BASE}/text`).json();
  } catch (e) {
    console.log('no JSON');
  }
}
