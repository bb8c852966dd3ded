// k6/net/grpc: load, connect, invoke, asyncInvoke, params metadata, tags, timeout and discardResponseMessage, close, constants
import grpc from 'k6/net/grpc';
import { check } from 'k6';

const client = new grpc.Client();
const methods = client.load(['./files'], 'echo.proto');

export const options = {
  iterations: 2,
  thresholds: {
    'grpc_req_duration{method:/t.Echo/Do}': ['max<60000'],
    'grpc_req_duration{kind:own}': ['max<60000'],
    'grpc_req_duration{status:5}': ['max<60000'],
  },
};

const fields = (message) => JSON.stringify(Object.entries(message).sort());

function note(name, made) {
  try {
    console.log(name, JSON.stringify(made()));
  } catch (e) {
    console.log(name, 'threw', e.message);
  }
}

export default async function () {
  console.log(methods.map((method) => `${method.package} ${method.service} ${method.fullMethod}`).join());
  note('not connected', () => client.invoke('t.Echo/Do', {}));
  client.connect(__ENV.GRPC, { plaintext: true });
  const message = { name: 'anna', number: '9007199254740993', inner: [{ flag: true }] };
  const fine = client.invoke('t.Echo/Do', message, { metadata: { own: 'yes' }, tags: { kind: 'own' } });
  check(fine, { 'is ok': (r) => r.status === grpc.StatusOK });
  console.log(fine.message.name, fine.message.number, fine.message.inner[0].flag, fine.error);
  console.log(typeof fine.headers, typeof fine.trailers);
  const failed = client.invoke('/t.Echo/Fail', {});
  console.log(failed.status === grpc.StatusNotFound, fields(failed.message), failed.error.code, failed.error.message);
  const late = client.invoke('t.Echo/Late', {}, { timeout: '50ms' });
  console.log(late.status === grpc.StatusDeadlineExceeded, fields(late.message));
  const discarded = client.invoke('t.Echo/Do', message, { discardResponseMessage: true });
  console.log(discarded.status === grpc.StatusOK, discarded.message);
  const later = await client.asyncInvoke('t.Echo/Do', { name: 'later' });
  console.log(later.status === grpc.StatusOK, later.message.name);
  note('no such method', () => client.invoke('t.Echo/Missing', {}));
  client.close();
  note('closed', () => client.invoke('t.Echo/Do', {}));
  console.log(Object.keys(grpc).sort().join());
}
