// what setup returns cannot be written as JSON
export const options = { iterations: 1 };

export function setup() {
  const circle = {};
  circle.self = circle;
  return circle;
}

export default function () {
  console.log('iteration');
}
