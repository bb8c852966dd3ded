// No request, no check, no limit.
export const options = { iterations: 2, vus: 1 };

export default function () {}

export function handleSummary(data) {
  console.log(JSON.stringify(data));
  throw new Error('so that k6 prints its own');
}
