// http.batch: arrays, objects, forms of requests
import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 2, iterations: 4, batch: 3, batchPerHost: 2 };

const base = __ENV.BASE;

export default function () {
  const list = http.batch([
    `${base}/a`,
    ['GET', `${base}/b`, null, { tags: { name: 'b' } }],
    { method: 'POST', url: `${base}/c`, body: 'x', params: { headers: { 'X-Own': '1' } } },
  ]);
  const named = http.batch({ one: `${base}/one`, two: { method: 'PUT', url: `${base}/two` } });
  check(list, { 'three in order': (l) => l.map((r) => r.json('path')).join() === '/a,/b,/c' });
  check(named, { 'by name': (n) => n.one.json('path') === '/one' && n.two.json('method') === 'PUT' });
  console.log(list.length, Object.keys(named).sort().join(), http.batch([]).length);
}
