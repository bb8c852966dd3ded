// group and check with asynchronous functions
import { check, group } from 'k6';

export const options = { iterations: 1 };

function attempt(name, made) {
  try {
    console.log(name, typeof made());
  } catch (e) {
    console.log(name, 'threw');
  }
}

export default async function () {
  attempt('group', () => group('asynchronous', async () => 1));
  attempt('group of a promise', () => group('promise', () => Promise.resolve(1)));
  attempt('check', () => check(1, { asynchronous: async (v) => v === 2 }));
  console.log(group('plain', () => 7), check(await Promise.resolve(1), { plain: (v) => v === 1 }));
}
