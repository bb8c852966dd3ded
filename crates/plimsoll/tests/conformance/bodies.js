// http.file, multipart, compression, auth, discardResponseBodies with responseType
import http from 'k6/http';
import encoding from 'k6/encoding';

export const options = { iterations: 1, discardResponseBodies: true };

const base = __ENV.BASE;
const text = { responseType: 'text' };

export default function () {
  console.log(http.get(`${base}/a`).body, http.get(`${base}/a`, text).json('path'));
  const form = http.post(`${base}/form`, { field: 'v', upload: http.file('content', 'name.txt', 'text/plain') }, text);
  const body = form.json('body');
  const type = form.request.headers['Content-Type'][0];
  const boundary = type.split('boundary=')[1];
  console.log(type.startsWith('multipart/form-data; boundary='), body.split(`--${boundary}`).length);
  console.log(body.includes('name="field"'), body.includes('filename="name.txt"'), body.includes('Content-Type: text/plain'));
  const packed = http.post(`${base}/packed`, 'x'.repeat(1000), Object.assign({ compression: 'gzip' }, text));
  console.log(packed.request.headers['Content-Encoding'][0], packed.json('method'));
  console.log(http.get(`${base}/gzip`, text).body);
  const authority = base.replace('http://', '');
  const authorized = http.get(`http://user:pass@${authority}/auth`, text);
  const header = authorized.json('headers.authorization') || authorized.json('headers.Authorization');
  console.log(encoding.b64decode(String(header).split(' ')[1], 'std', 's'));
}
