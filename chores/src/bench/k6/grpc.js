import grpc from 'k6/net/grpc';
import { check } from 'k6';

export const options = { thresholds: { checks: ['rate==1'] } };

const client = new grpc.Client();
client.load(['.'], 'echo.proto');
let isConnected = false;

export default function () {
  if (!isConnected) {
    client.connect(__ENV.TARGET, { plaintext: true });
    isConnected = true;
  }
  const response = client.invoke('bench.Echo/Say', { text: 'hello!' });
  check(response, { 'status is OK': (r) => r.status === grpc.StatusOK });
}
