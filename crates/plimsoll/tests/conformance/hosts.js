// options hosts, blockHostnames, blacklistIPs
import http from 'k6/http';

const port = __ENV.BASE.split(':')[2];

export const options = {
  iterations: 1,
  hosts: { 'own.test': '127.0.0.1', '*.wild.test': '127.0.0.1', 'port.test': `127.0.0.1:${port}`, 'blocked.test': '10.1.2.3' },
  blockHostnames: ['*.blocked.example'],
  blacklistIPs: ['10.0.0.0/8'],
};

export default function () {
  for (const host of [`own.test:${port}`, `a.wild.test:${port}`, 'port.test', `blocked.test:${port}`, 'a.blocked.example']) {
    const r = http.get(`http://${host}/a`);
    const named = r.status === 200 ? r.json('headers.host') || r.json('headers.Host') : null;
    console.log(host.replace(port, 'PORT'), r.status, r.error_code, String(named).replace(port, 'PORT'));
  }
}
