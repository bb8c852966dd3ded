import { setTimeout as later, clearTimeout, setInterval, clearInterval } from 'k6/timers';
import timers from 'k6/timers';

global.shared = 1;

export default function () {
  console.log(typeof global, global === globalThis, shared, globalThis.shared);
  console.log(typeof clearTimeout, typeof setInterval, typeof clearInterval, later === setTimeout, timers === undefined);
  later((text) => console.log(text), 10, 'later');
}
