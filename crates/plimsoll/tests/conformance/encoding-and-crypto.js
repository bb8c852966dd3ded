// k6/encoding, k6/crypto
import crypto, { hmac, md5, sha256 } from 'k6/crypto';
import encoding, { b64decode, b64encode } from 'k6/encoding';

export const options = { iterations: 1 };

export default function () {
  for (const kind of ['std', 'rawstd', 'url', 'rawurl']) {
    console.log(kind, b64encode('hällo?>', kind), b64decode(b64encode('hällo?>', kind), kind, 's'));
  }
  console.log(encoding.b64encode(new Uint8Array([0, 255, 127]).buffer), b64decode('AP9/').byteLength);
  for (const name of ['md4', 'md5', 'sha1', 'sha256', 'sha384', 'sha512', 'sha512_224', 'sha512_256', 'ripemd160']) {
    console.log(name, crypto[name]('text', 'hex'), crypto.hmac('sha256', name, 'text', 'base64'));
  }
  const hasher = crypto.createHash('sha256');
  hasher.update('te');
  hasher.update('xt');
  console.log(hasher.digest('hex') === sha256('text', 'hex'), md5('text', 'base64rawurl'), hmac('sha1', 'k', 'd', 'base64url'));
  const keyed = crypto.createHMAC('sha512', 'key');
  keyed.update('text');
  console.log(keyed.digest('base64'), crypto.randomBytes(8).byteLength, sha256('text', 'binary').byteLength);
}
