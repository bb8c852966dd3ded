// A unary call and a stream over gRPC.
import grpc from 'k6/net/grpc';
import { check } from 'k6';

const client = new grpc.Client();
client.load([__ENV.PROTOS], 'echo.proto');

export const options = { iterations: 3, vus: 1, thresholds: { grpc_req_duration: ['p(95)<5000'] } };

export default function () {
  client.connect(__ENV.TARGET, { plaintext: true });
  const reply = client.invoke('demo.Echo/Say', { name: 'a' });
  check(reply, { 'status is OK': (r) => r && r.status === grpc.StatusOK });
  client.close();
}

export function handleSummary(data) {
  console.log(JSON.stringify(data));
  throw new Error('so that k6 prints its own');
}
