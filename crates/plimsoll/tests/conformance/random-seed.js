// randomSeed, Math.random
import { randomSeed } from 'k6';

export const options = { iterations: 1 };

export default function () {
  randomSeed(7);
  const first = [Math.random(), Math.random()];
  randomSeed(7);
  console.log(first[0] === Math.random(), first[1] === Math.random(), first[0] !== first[1], first[0] >= 0 && first[0] < 1);
}
