// Web Crypto: what is refused, and how
const { subtle } = crypto;
const counting = (length) => Uint8Array.from({ length }, (_, at) => at);

const tried = async (what, operation) => {
  try {
    await operation();
    console.log(what, 'done');
  } catch (error) {
    console.log(what, `${error.name}: ${error.message}`);
  }
};

export default async function () {
  const aes = await subtle.importKey('raw', counting(16), 'AES-CBC', false, ['encrypt']);
  const hmac = await subtle.importKey('raw', counting(16), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const cbc = { name: 'AES-CBC', iv: counting(16) };
  await tried('digest of nothing known', () => subtle.digest('MD5', counting(1)));
  await tried('not extractable', () => subtle.exportKey('raw', aes));
  await tried('usage of decrypt', () => subtle.decrypt(cbc, aes, counting(16)));
  await tried('usage of verify', () => subtle.verify('HMAC', hmac, counting(1), counting(1)));
  await tried('another algorithm', () => subtle.encrypt({ name: 'AES-CTR', counter: counting(16), length: 1 }, aes, counting(1)));
  await tried('sign by AES', () => subtle.sign('AES-CBC', aes, counting(1)));
  await tried('iv', () => subtle.encrypt({ name: 'AES-CBC', iv: counting(3) }, aes, counting(1)));
  await tried('nothing to pad', () => subtle.encrypt(cbc, aes, new Uint8Array(0)));
  await tried('no data', () => subtle.encrypt(cbc, aes, null));
  await tried('no bytes', () => subtle.encrypt(cbc, aes, {}));
  await tried('length', () => subtle.importKey('raw', counting(5), 'AES-CBC', true, ['encrypt']));
  await tried('no usages', () => subtle.importKey('raw', counting(16), 'AES-CBC', true, []));
  await tried('wrong usage', () => subtle.importKey('raw', counting(16), 'AES-CBC', true, ['sign']));
  await tried('format', () => subtle.importKey('pkcs8', counting(16), 'AES-CBC', true, ['encrypt']));
  await tried('no format', () => subtle.importKey('pem', counting(16), 'AES-CBC', true, ['encrypt']));
  await tried('no hash', () => subtle.importKey('raw', counting(16), 'HMAC', true, ['sign']));
  await tried('hash', () => subtle.importKey('raw', counting(16), { name: 'HMAC', hash: 'MD5' }, true, ['sign']));
  await tried('jwk', () => subtle.importKey('jwk', { kty: 'RSA', k: 'AAAA' }, { name: 'HMAC', hash: 'SHA-256' }, true, ['sign']));
  await tried('bits', () => subtle.generateKey({ name: 'AES-GCM', length: 100 }, true, ['encrypt']));
  await tried('curve', () => subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-111' }, true, ['sign']));
  await tried('no curve', () => subtle.generateKey({ name: 'ECDSA' }, true, ['sign']));
  await tried('usages of ECDH', () => subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, true, ['sign']));
  await tried('no usages of ECDH', () => subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, true, []));
  const base = await subtle.importKey('raw', counting(16), 'PBKDF2', false, ['deriveKey']);
  const pbkdf2 = { name: 'PBKDF2', hash: 'SHA-256', salt: counting(8), iterations: 10 };
  await tried('deriveBits without usage', () => subtle.deriveBits(pbkdf2, base, 128));
  await tried('odd bits', () => subtle.deriveBits(pbkdf2, base, 7));
  await tried('no bits', () => subtle.deriveBits(pbkdf2, base, 0));
  await tried('extractable password', () => subtle.importKey('raw', counting(16), 'PBKDF2', true, ['deriveKey']));
  const gcm = await subtle.importKey('raw', counting(16), 'AES-GCM', false, ['encrypt', 'decrypt']);
  await tried('tag', () => subtle.decrypt({ name: 'AES-GCM', iv: counting(12) }, gcm, counting(32)));
  await tried('short', () => subtle.decrypt({ name: 'AES-GCM', iv: counting(12) }, gcm, counting(3)));
  await tried('tag length', () => subtle.encrypt({ name: 'AES-GCM', iv: counting(12), tagLength: 100 }, gcm, counting(3)));
  await tried('nonce', () => subtle.encrypt({ name: 'AES-GCM', iv: counting(16) }, gcm, counting(3)));
}
