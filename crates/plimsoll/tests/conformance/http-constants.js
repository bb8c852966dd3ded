import http from 'k6/http';

export default function () {
  for (const name of Object.keys(http).sort()) {
    if (/^(TLS|OCSP)_/.test(name)) {
      console.log(name, http[name]);
    }
  }
}
