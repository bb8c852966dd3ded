import http from 'k6/http';

const thrown = (body) => {
  try {
    return JSON.stringify(body());
  } catch (error) {
    return `thrown: ${error.message}`;
  }
};

export default function () {
  const empty = http.post(`${__ENV.BASE}/status/404`, null, { responseType: 'none' });
  console.log(thrown(() => empty.json()), thrown(() => empty.json('a')));
  const text = http.get(`${__ENV.BASE}/text`);
  console.log(thrown(() => text.json('a')), thrown(() => http.url`${__ENV.BASE}/${undefined}x`.url.replace(__ENV.BASE, '')));
}
