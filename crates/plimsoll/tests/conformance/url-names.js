// http.url: requests of many addresses have one name
import http from 'k6/http';

export const options = {
  iterations: 3,
  thresholds: {
    'http_reqs{name:/item}': ['count==3'],
    'http_reqs{kind:async}': ['count==3'],
    'http_reqs{method:POST}': ['count==3'],
    'http_reqs{kind:batch}': ['count==6'],
    'http_reqs{expected_response:true}': ['count==12'],
  },
};

export default async function () {
  const base = __ENV.BASE;
  const r = http.get(http.url`${base}/item/${__ITER}`);
  console.log(r.url.replace(base, ''), r.status);
  http.post(`${base}/item/${__ITER}`, 'x', { tags: { name: '/item' } });
  const tags = { kind: 'batch' };
  http.batch([
    ['GET', http.url`${base}/batch/${__ITER}`, null, { tags }],
    { method: 'GET', url: http.url`${base}/batch/${__ITER}`, params: { tags } },
  ]).forEach((one) => console.log(one.json('path')));
  await http.asyncRequest('GET', http.url`${base}/async/${__ITER}`, null, { tags: { kind: 'async' } });
}
