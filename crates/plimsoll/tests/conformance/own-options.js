// minIterationDuration, maxRedirects, throw, noConnectionReuse, userAgent
import http from 'k6/http';

export const options = {
  iterations: 2,
  minIterationDuration: '300ms',
  maxRedirects: 1,
  throw: true,
  noConnectionReuse: true,
  userAgent: 'own/1.0',
  thresholds: { iteration_duration: ['min>=300'] },
};

export default function () {
  const r = http.get(`${__ENV.BASE}/x`);
  console.log(r.json('headers.user-agent') || r.json('headers.User-Agent'));
  const redirected = http.get(`${__ENV.BASE}/redirect-twice`);
  console.log(redirected.status);
  try {
    http.get('http://127.0.0.1:1/');
  } catch (e) {
    console.log('thrown');
  }
}
