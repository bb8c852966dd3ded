// cookies of responses, cookieJar, CookieJar, params cookies and jar
import http from 'k6/http';

export const options = { iterations: 2 };

const base = __ENV.BASE;
const sent = (r) => JSON.stringify(r.json('headers.cookie') || r.json('headers.Cookie') || null);

export default function () {
  console.log(sent(http.get(`${base}/x`)));
  const set = http.get(`${base}/set-cookie`);
  console.log(Object.keys(set.cookies).sort().join(), set.cookies.a[0].value, set.cookies.b[0].path, set.cookies.b[0].http_only);
  console.log(sent(http.get(`${base}/x`)), sent(http.get(`${base}/below/x`)));
  const jar = http.cookieJar();
  jar.set(base, 'own', 'mine');
  console.log(Object.entries(jar.cookiesForURL(`${base}/below/`)).map(([name, values]) => `${name}=${values}`).sort().join());
  console.log(sent(http.get(`${base}/x`, { cookies: { once: '1' } })));
  const other = new http.CookieJar();
  other.set(base, 'other', 'jar');
  console.log(sent(http.get(`${base}/x`, { jar: other })));
  jar.delete(base, 'own');
  jar.clear(base);
  console.log(sent(http.get(`${base}/x`)));
}
