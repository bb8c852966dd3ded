// asyncRequest, async, await, promises, setTimeout
import http from 'k6/http';
import { check, sleep } from 'k6';

export const options = { iterations: 2 };

export default async function () {
  const order = [];
  setTimeout(() => order.push('timer'), 20);
  Promise.resolve().then(() => order.push('microtask'));
  const pair = await Promise.all([http.asyncRequest('GET', `${__ENV.BASE}/a`), http.asyncRequest('POST', `${__ENV.BASE}/b`, 'x')]);
  check(pair, { 'both came': (p) => p[0].json('path') === '/a' && p[1].json('method') === 'POST' });
  await new Promise((done) => setTimeout(done, 60));
  order.push('last');
  console.log(order.join());
  const cancelled = setTimeout(() => console.log('never'), 10);
  clearTimeout(cancelled);
  let ticks = 0;
  await new Promise((done) => {
    const every = setInterval(() => {
      ticks += 1;
      if (ticks === 3) {
        clearInterval(every);
        done();
      }
    }, 5);
  });
  console.log(ticks);
  await http.asyncRequest('GET', 'http://127.0.0.1:1/', null, { throw: true }).catch((e) => console.log('rejected'));
}
