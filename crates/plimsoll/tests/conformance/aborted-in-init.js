// exec.test.abort outside of functions: exit code 108
import exec from 'k6/execution';

exec.test.abort('not at all');

export default function () {
  console.log('iteration');
}
