// Web Crypto: digests, random values, the shape of the global
import { b64encode } from 'k6/encoding';

const bytes = (text) => Uint8Array.from(Array.from(text), (letter) => letter.charCodeAt(0));

export default async function () {
  console.log(Object.keys(crypto).join(), Object.keys(crypto.subtle).join(), typeof crypto.subtle.digest);
  for (const name of ['SHA-1', 'SHA-256', 'sha-384', { name: 'SHA-512' }]) {
    const digest = await crypto.subtle.digest(name, bytes('abc'));
    console.log(JSON.stringify(name), digest instanceof ArrayBuffer, b64encode(digest));
  }
  const values = crypto.getRandomValues(new Uint8Array(64));
  console.log(values.length, values.some((value) => value > 0), crypto.getRandomValues(values) === values);
  console.log(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()));
  console.log(crypto.randomUUID() !== crypto.randomUUID());
  for (const wrong of [() => new Uint8Array(65537), () => new Float32Array(1), () => [1]]) {
    try {
      crypto.getRandomValues(wrong());
      console.log('filled');
    } catch (error) {
      console.log(String(error).replace('GoError: ', ''));
    }
  }
}
