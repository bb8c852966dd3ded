// Web Crypto: RSA
import { b64decode, b64encode } from 'k6/encoding';

const { subtle } = crypto;
const bytes = (text) => Uint8Array.from(Array.from(text), (letter) => letter.charCodeAt(0));
const ordered = (object) => JSON.stringify(Object.fromEntries(Object.entries(object).sort()));
const described = ({ type, extractable, algorithm, usages }) => {
  const { name, length, hash, namedCurve, modulusLength } = algorithm;
  return [type, extractable, name, length, hash?.name, namedCurve, modulusLength, usages.join()].join(' ');
};
const PRIVATE = 'MIIEvwIBADANBgkqhkiG9w0BAQEFAASCBKkwggSlAgEAAoIBAQCe66q3CkXC8pd0Mx2bFHTvjiOQtEa1axFr17QHf32PC1YRfNiiee7IHCrRzyL3fTvmD83Ter0zsXiNS1Y3Li+FJwYM224hOaCHTUiTWroCNqwcc1ThV5QFtukceZADBojZJulVz/teGDy0oozOXUhK8C5OLTA5ErZ1TKAkOuhetN0tM/46ncU+yr/+peCZXkNkaVBcC9Mpsa+TDO/XYcWko8YkTozOBTI3wF4qT2zmvvks7j/UfKk73oYVucnO2cXflwvkf4nmHxzMJ8XXr4IRVgTKIV5Cgo9FCpijByPbi8ltXdu5OlHZUeaoPD3dqGYYFN0eFiuAV1id+pVaI4NnAgMBAAECggEAD0FKEuX+ilclKLdbaS6Ohwxa56IWg4Wyl2qOUoXvdJK/AVC9ruMLg9QIXDmI/r7byBrORDWtAdBQZSfNL+DUGPEFCKjrqm7QtQw7IkH8Rwgef2CmzjbM87t6JwyYQWIYMtgkX+NmGsMy2Jgd8hVMQj1KBKEb1u6v6xSe7rtk4OpOy3466CqVxEDZRobXnNPEvY4cxGjtvXFLBNGsT28weMRf5qnmZeeNOkCrYQC+vTZJzs+jT5h8ptBQ0p3kjE1InfroYFfdZjRj/Mr7vYUrV0l01f+1ukjWmOFheB51weFm5NCeXUrk7d7bU/ke3vsnUunugUPf9R2nOp4lZo/o4QKBgQDcrgWIaadYRJ/VH0qnKcl+jGTqs3JzDGg/6EVUm+eG8w1Z5EmSNNId1FJ4OQsfWIc2MgS2qSTk542mnxg0GTjbxrMLdx7f48/henjpLOymvIuv/YPRr3Cr8v9jFc8eOzxgTXQkCKk9GA91BLxKEk/z+8GwQqTQ5gbt32Yfn6KsVwKBgQC4WyrIFNv6WfmJB/aVs1HORXzLc4w5ucp+7CUx9H0OeWWQYkqFVDoSzzBNzfCwcP/EZnyOCwAFytC+yiUZGXSaXmnocubrxCOZ13E7IsTGZXuVzumoAHhwdJfUhOEwIvgXsGSk2jnTfipYdONUwwCeI0XkamHM1B02CTIaoO93cQKBgQCh1kVcew8snncQ1vfqi6ynT9KahKtEUC8L3w0pNYSf5RM/fzmtLWuCULmCTWMow8W1Kw1l37mc3Wt2bGpVmsGl+5xGpj9QNkO3uhd9+WI8DT3r/OF1H1Jj57r/MXlJVGu8vFCWNHvYwBJl4Oks8S0NYu3yk41HXcprHFBKlMm51QKBgQCEvMeR5kr4992Oh5hI8yL8pNWU225khdxCBJ9HV6TPTiMNkWfcled2cY1zB8u8DrBpZe1ajJsIkJ46MOwDJWvqVf5lao3PxZpog1G45XDO9HTGSYO8/hG5zokfcEl/Uj5VOCFO/P1TxOySYh7ogbspIXaKXvpp83PQ21AjEis5UQKBgQCj0hUd/sdq41kEjp9KsgNue3GTKuKolbHh5TrgN+tliFGVQIjbQZNBolJVTH2PZnDrLkYHpitvOUmx+et82wiY6wV8kppdNzv0lqkfJgc6r8eqPo03SfwDfPyPQCYWJRjIPQks40JgLbk0KFRZI5THkFqBLQ8mM4Uv/8Vq1EHe2g==';
const PUBLIC = 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAnuuqtwpFwvKXdDMdmxR0744jkLRGtWsRa9e0B399jwtWEXzYonnuyBwq0c8i93075g/N03q9M7F4jUtWNy4vhScGDNtuITmgh01Ik1q6AjasHHNU4VeUBbbpHHmQAwaI2SbpVc/7Xhg8tKKMzl1ISvAuTi0wORK2dUygJDroXrTdLTP+Op3FPsq//qXgmV5DZGlQXAvTKbGvkwzv12HFpKPGJE6MzgUyN8BeKk9s5r75LO4/1HypO96GFbnJztnF35cL5H+J5h8czCfF16+CEVYEyiFeQoKPRQqYowcj24vJbV3buTpR2VHmqDw93ahmGBTdHhYrgFdYnfqVWiODZwIDAQAB';

async function signed() {
  for (const [name, hash] of [['RSASSA-PKCS1-v1_5', 'SHA-256'], ['RSASSA-PKCS1-v1_5', 'SHA-512'], ['RSA-PSS', 'SHA-256'], ['RSA-PSS', 'SHA-384']]) {
    const params = { name, hash };
    const by = { name, saltLength: hash === 'SHA-256' ? 32 : 48 };
    const own = await subtle.importKey('pkcs8', b64decode(PRIVATE), params, true, ['sign']);
    const known = await subtle.importKey('spki', b64decode(PUBLIC), params, true, ['verify']);
    const signature = await subtle.sign(by, own, bytes('signed'));
    console.log(described(own), described(known), name === 'RSA-PSS' ? signature.byteLength : b64encode(signature));
    console.log(await subtle.verify(by, known, signature, bytes('signed')), await subtle.verify(by, known, signature, bytes('other')));
  }
}

async function encrypted() {
  for (const hash of ['SHA-1', 'SHA-256', 'SHA-512']) {
    const params = { name: 'RSA-OAEP', hash: { name: hash } };
    const own = await subtle.importKey('pkcs8', b64decode(PRIVATE), params, true, ['decrypt']);
    const known = await subtle.importKey('spki', b64decode(PUBLIC), params, true, ['encrypt']);
    for (const label of [undefined, bytes('label')]) {
      const by = { name: 'RSA-OAEP', label };
      const secret = await subtle.encrypt(by, known, bytes('text'));
      console.log(secret.byteLength, String.fromCharCode(...new Uint8Array(await subtle.decrypt(by, own, secret))));
    }
  }
}

async function exported() {
  const params = { name: 'RSA-PSS', hash: 'SHA-256' };
  const own = await subtle.importKey('pkcs8', b64decode(PRIVATE), params, true, ['sign']);
  const known = await subtle.importKey('spki', b64decode(PUBLIC), params, true, ['verify']);
  console.log(b64encode(await subtle.exportKey('pkcs8', own)) === PRIVATE, b64encode(await subtle.exportKey('spki', known)) === PUBLIC);
  for (const [key, usages] of [[own, ['sign']], [known, ['verify']]]) {
    const jwk = await subtle.exportKey('jwk', key);
    const again = await subtle.importKey('jwk', jwk, params, true, usages);
    console.log(ordered(jwk), described(again));
  }
  const made = { name: 'RSA-OAEP', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' };
  const { privateKey, publicKey } = await subtle.generateKey(made, false, ['encrypt', 'decrypt']);
  console.log(described(privateKey), described(publicKey));
}

export default async function () {
  await signed();
  await encrypted();
  await exported();
}
