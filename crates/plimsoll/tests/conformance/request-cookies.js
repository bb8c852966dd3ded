import http from 'k6/http';

const shown = (response) => {
  const { cookies, headers } = response.request;
  const each = Object.keys(cookies).sort().map((name) => `${name}=${cookies[name].map((one) => `${one.value}/${one.replace}`)}`);
  return `${each.join(' ')} ${headers.Cookie}`;
};

export default function () {
  console.log('1', shown(http.get(`${__ENV.BASE}/set-cookie`)));
  console.log('2', shown(http.get(`${__ENV.BASE}/echo`)));
  console.log('3', shown(http.get(`${__ENV.BASE}/echo`, { cookies: { own: 'x' } })));
  console.log('4', shown(http.get(`${__ENV.BASE}/echo`, { cookies: { a: { value: 'x', replace: true } } })));
  console.log('5', shown(http.get(`${__ENV.BASE}/echo`, { cookies: { a: 'y' } })));
}
