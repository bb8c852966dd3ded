// k6/net/grpc: a server that cannot be reached: connect throws
import grpc from 'k6/net/grpc';

const client = new grpc.Client();

export const options = { iterations: 1 };

export default function () {
  try {
    client.connect('127.0.0.1:1', { plaintext: true, timeout: '300ms' });
  } catch (e) {
    console.log('thrown');
  }
}
