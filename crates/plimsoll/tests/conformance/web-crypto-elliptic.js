// Web Crypto: elliptic curves
import { b64decode, b64encode } from 'k6/encoding';

const { subtle } = crypto;
const bytes = (text) => Uint8Array.from(Array.from(text), (letter) => letter.charCodeAt(0));
const ordered = (object) => JSON.stringify(Object.fromEntries(Object.entries(object).sort()));
const described = ({ type, extractable, algorithm, usages }) => {
  const { name, length, hash, namedCurve, modulusLength } = algorithm;
  return [type, extractable, name, length, hash?.name, namedCurve, modulusLength, usages.join()].join(' ');
};
const PRIVATE = 'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg0dUo7kHgLAJyJBsjB/hhzYomEbtD48Hj7WwWQJirNEKhRANCAARUSeQ/i3nNJeQbJyV6EammgVC1txc1d2g5RvtYV3/MfuO96FFFhyDWavyDErFjWnPL14E0AaHKsRUKDSLShut7';

async function ecdsa() {
  for (const [namedCurve, hash] of [['P-256', 'SHA-256'], ['P-384', 'SHA-384'], ['P-521', 'SHA-512'], ['P-521', 'SHA-256']]) {
    const params = { name: 'ECDSA', namedCurve };
    const { privateKey, publicKey } = await subtle.generateKey(params, true, ['sign', 'verify']);
    console.log(described(privateKey), described(publicKey));
    const by = { name: 'ECDSA', hash: { name: hash } };
    const signature = await subtle.sign(by, privateKey, bytes('signed'));
    console.log(signature.byteLength, await subtle.verify(by, publicKey, signature, bytes('signed')),
      await subtle.verify(by, publicKey, signature, bytes('other')),
      await subtle.verify(by, publicKey, new Uint8Array(3), bytes('signed')));
    const forms = [['raw', publicKey], ['spki', publicKey], ['pkcs8', privateKey], ['jwk', publicKey], ['jwk', privateKey]];
    for (const [format, key] of forms) {
      const exported = await subtle.exportKey(format, key);
      const usages = key.type === 'private' ? ['sign'] : ['verify'];
      const again = await subtle.importKey(format, exported, params, true, usages);
      const size = format === 'jwk' ? Object.keys(exported).sort().join() : exported.byteLength;
      console.log(format, size, described(again));
      if (again.type === 'public') {
        console.log(await subtle.verify(by, again, signature, bytes('signed')));
      }
    }
  }
}

async function known() {
  const params = { name: 'ECDSA', namedCurve: 'P-256' };
  const key = await subtle.importKey('pkcs8', b64decode(PRIVATE), params, true, ['sign']);
  const jwk = await subtle.exportKey('jwk', key);
  console.log(described(key), ordered(jwk), b64encode(await subtle.exportKey('pkcs8', key)) === PRIVATE);
  const { kty, crv, x, y } = jwk;
  const shared = await subtle.importKey('jwk', { kty, crv, x, y }, { name: 'ECDH', namedCurve: 'P-256' }, true, []);
  console.log(described(shared), b64encode(await subtle.exportKey('raw', shared)), b64encode(await subtle.exportKey('spki', shared)));
  const own = await subtle.importKey('jwk', jwk, { name: 'ECDH', namedCurve: 'P-256' }, true, ['deriveBits']);
  console.log(described(own), b64encode(await subtle.deriveBits({ name: 'ECDH', public: shared }, own, 256)));
}

// The curve is that of the key.
async function misnamed() {
  const { publicKey, privateKey } = await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-384' }, true, ['sign', 'verify']);
  const by = { name: 'ECDSA', hash: 'SHA-384' };
  const other = { name: 'ECDSA', namedCurve: 'P-256' };
  for (const format of ['jwk', 'pkcs8']) {
    const own = await subtle.importKey(format, await subtle.exportKey(format, privateKey), other, true, ['sign']);
    const signature = await subtle.sign(by, own, bytes('signed'));
    const known = await subtle.importKey('spki', await subtle.exportKey('spki', publicKey), other, true, ['verify']);
    console.log(format, signature.byteLength, await subtle.verify(by, known, signature, bytes('signed')));
  }
}

async function ecdh() {
  for (const [namedCurve, bits] of [['P-256', 256], ['P-384', 384], ['P-521', 128]]) {
    const pair = () => subtle.generateKey({ name: 'ECDH', namedCurve }, true, ['deriveKey', 'deriveBits']);
    const [alice, bob] = [await pair(), await pair()];
    console.log(described(alice.privateKey), described(alice.publicKey));
    const one = await subtle.deriveBits({ name: 'ECDH', public: bob.publicKey }, alice.privateKey, bits);
    const other = await subtle.deriveBits({ name: 'ECDH', public: alice.publicKey }, bob.privateKey, bits);
    console.log(one.byteLength, b64encode(one) === b64encode(other));
  }
}

export default async function () {
  await ecdsa();
  await known();
  await misnamed();
  await ecdh();
}
