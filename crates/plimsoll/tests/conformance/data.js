// SharedArray, open
import { SharedArray } from 'k6/data';

const users = new SharedArray('users', () => JSON.parse(open('./files/users.json')));
const text = open('./files/text.txt');
const bytes = open('./files/text.txt', 'b');

export const options = { iterations: 4 };

export default function () {
  const user = users[__ITER % users.length];
  console.log(users.length, user.name, text.trim(), bytes.byteLength, users.map((u) => u.id).join());
  try {
    users[0] = 'other';
  } catch (e) {
    console.log('read only');
  }
  const copy = users[0];
  copy.name = 'changed';
  console.log(users[0].name, users[9] === undefined);
}
