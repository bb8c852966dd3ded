// Web Crypto: AES, HMAC and PBKDF2 with keys from outside and new ones
import { b64decode, b64encode } from 'k6/encoding';

const { subtle } = crypto;
const bytes = (text) => Uint8Array.from(Array.from(text), (letter) => letter.charCodeAt(0));
const counting = (length) => Uint8Array.from({ length }, (_, at) => at);
const ordered = (object) => JSON.stringify(Object.fromEntries(Object.entries(object).sort()));
const described = ({ type, extractable, algorithm, usages }) => {
  const { name, length, hash, namedCurve, modulusLength } = algorithm;
  return [type, extractable, name, length, hash?.name, namedCurve, modulusLength, usages.join()].join(' ');
};

async function aes() {
  const iv = counting(16);
  for (const [length, name] of [[16, 'AES-CBC'], [24, 'AES-CBC'], [32, 'AES-CTR'], [16, 'AES-GCM'], [32, 'AES-GCM']]) {
    const key = await subtle.importKey('raw', counting(length), { name }, true, ['encrypt', 'decrypt']);
    const params = { name, iv: name === 'AES-GCM' ? counting(12) : iv, counter: iv, length: 64 };
    const secret = await subtle.encrypt(params, key, bytes('a text of twenty-six bytes'));
    const text = await subtle.decrypt(params, key, secret);
    console.log(described(key), b64encode(secret), String.fromCharCode(...new Uint8Array(text)));
  }
  const key = await subtle.importKey('raw', counting(32), 'AES-GCM', false, ['encrypt', 'decrypt']);
  const params = { name: 'AES-GCM', iv: counting(12), additionalData: bytes('beside'), tagLength: 96 };
  const secret = await subtle.encrypt(params, key, bytes('short'));
  console.log(b64encode(secret), (await subtle.decrypt(params, key, secret)).byteLength);
  const made = await subtle.generateKey({ name: 'AES-CBC', length: 192 }, true, ['encrypt', 'decrypt']);
  console.log(described(made), (await subtle.exportKey('raw', made)).byteLength);
  const jwk = { kty: 'oct', k: b64encode(counting(16), 'rawurl'), alg: 'A128CBC' };
  const read = await subtle.importKey('jwk', jwk, { name: 'AES-CBC' }, true, ['encrypt']);
  console.log(described(read), ordered(await subtle.exportKey('jwk', read)));
}

async function hmac() {
  for (const hash of ['SHA-1', 'SHA-256', { name: 'SHA-384' }, 'SHA-512']) {
    const key = await subtle.importKey('raw', counting(20), { name: 'HMAC', hash }, true, ['sign', 'verify']);
    const signature = await subtle.sign('HMAC', key, bytes('signed'));
    console.log(described(key), b64encode(signature), await subtle.verify('HMAC', key, signature, bytes('signed')),
      await subtle.verify({ name: 'hmac' }, key, signature, bytes('other')));
    console.log(ordered(await subtle.exportKey('jwk', key)), b64encode(await subtle.exportKey('raw', key)));
  }
  const made = await subtle.generateKey({ name: 'HMAC', hash: 'SHA-384' }, true, ['sign']);
  console.log(described(made), (await subtle.exportKey('raw', made)).byteLength);
  const short = await subtle.generateKey({ name: 'HMAC', hash: 'SHA-256', length: 256 }, false, ['sign', 'verify']);
  console.log(described(short));
}

async function pbkdf2() {
  const base = await subtle.importKey('raw', bytes('password'), 'PBKDF2', false, ['deriveBits', 'deriveKey']);
  const params = { name: 'PBKDF2', hash: 'SHA-256', salt: bytes('salt'), iterations: 1000 };
  console.log(described(base), b64encode(await subtle.deriveBits(params, base, 256)));
  const key = await subtle.deriveKey(params, base, { name: 'AES-CBC', length: 128 }, true, ['encrypt', 'decrypt']);
  console.log(described(key), b64encode(await subtle.exportKey('raw', key)));
}

export default async function () {
  await aes();
  await hmac();
  await pbkdf2();
  const secret = b64decode('dGhyZWUgYmxvY2tz');
  console.log(b64encode(await subtle.digest('SHA-256', secret)));
}
