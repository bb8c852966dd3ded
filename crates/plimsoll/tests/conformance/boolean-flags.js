// flags: --no-setup=true --throw=false --quiet=false --no-color=1 --insecure-skip-tls-verify=TRUE --no-usage-report=t
import http from 'k6/http';

export const options = { throw: true };

export function setup() {
  console.log('not called');
}

export default function () {
  console.log(http.get('http://127.0.0.1:1/').status);
}
