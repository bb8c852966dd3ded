import http from 'k6/http';

export default function () {
  const response = http.get(`${__ENV.BASE}/object`);
  const names = Object.keys(response);
  console.log(names.length, names.join());
  const copied = { ...response };
  console.log(copied.status, copied.json().name, Object.assign({}, response).body === response.body);
  console.log(response.hasOwnProperty('status'), 'status' in response, response.hasOwnProperty('json'), 'nothing' in response);
  const inLoop = [];
  for (const name in response) {
    inLoop.push(name);
  }
  console.log(inLoop.join() === names.join());
  response.json().name = 'berta';
  console.log(response.json().name, response.json('name'));
  response.status = 418;
  response.body = 'changed';
  console.log(response.status, response.body, Object.keys(response).length);
  console.log(Object.keys(JSON.parse(JSON.stringify(response))).join());
  const { status, headers, timings } = response;
  console.log(status, headers['X-Twice'], typeof timings.duration);
  const unsent = http.get('http://127.0.0.1:1/');
  try {
    unsent.json();
  } catch (error) {
    console.log(error.message);
  }
  console.log(unsent.status, Object.keys(unsent).length, unsent.body);
}
