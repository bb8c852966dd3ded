// exec.test.fail: exit code 110
import exec from 'k6/execution';

export const options = { iterations: 3 };

export default function () {
  exec.test.fail('marked');
}
