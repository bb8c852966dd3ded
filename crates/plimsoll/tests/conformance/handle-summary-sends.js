import http from 'k6/http';

export default function () {}

export async function handleSummary(data) {
  const response = http.post(`${__ENV.BASE}/echo`, JSON.stringify(Object.keys(data.metrics).includes('iterations')));
  console.log(response.status, response.body.includes('true'));
  await new Promise((resolve) => setTimeout(resolve, 20));
  const later = await http.asyncRequest('GET', `${__ENV.BASE}/object`);
  console.log(later.json('name'));
  return { stdout: 'whole\n', 'own.json': JSON.stringify(data) };
}
