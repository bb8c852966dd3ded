// handleSummary that throws
export const options = { iterations: 1, thresholds: { iterations: ['count==1'] } };

export default function () {}

export function handleSummary() {
  console.log('summary');
  throw new Error('no summary');
}
