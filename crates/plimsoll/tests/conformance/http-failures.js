// error, error_code of requests without a response
import http from 'k6/http';

export const options = { iterations: 1 };

export default function () {
  for (const url of ['http://127.0.0.1:1/', `${__ENV.BASE}/reset`, `${__ENV.BASE}/loop`]) {
    const r = http.get(url);
    console.log(r.status, r.error_code, r.body === null);
  }
  for (const url of ['nothing', 'ftp://127.0.0.1/', 'http://']) {
    try {
      const r = http.get(url);
      console.log(r.status, r.error_code);
    } catch (e) {
      console.log('thrown');
    }
  }
}
