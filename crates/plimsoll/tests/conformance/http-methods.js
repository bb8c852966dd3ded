// http.get, head, post, put, patch, del, options, request, url
import http from 'k6/http';

export const options = { iterations: 1 };

const base = __ENV.BASE;

export default function () {
  const asked = [
    http.get(`${base}/a?b=1`),
    http.head(`${base}/a`),
    http.post(`${base}/a`, 'text'),
    http.put(`${base}/a`, JSON.stringify({ n: 1 }), { headers: { 'Content-Type': 'application/json' } }),
    http.patch(`${base}/a`, { field: 'a b', other: 'ä&=' }),
    http.del(`${base}/a`),
    http.options(`${base}/a`),
    http.request('POST', `${base}/a`, 'x', { headers: { 'X-Own': 'yes' } }),
    http.request('get', http.url`${base}/item/${7}`),
  ];
  for (const { request, status, body } of asked) {
    const sent = body ? JSON.parse(body) : {};
    console.log(request.method, status, request.body, sent.method, sent.path, sent.body);
    console.log(JSON.stringify(request.headers['Content-Type'] || null), JSON.stringify(request.headers['X-Own'] || null));
  }
}
