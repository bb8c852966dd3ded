// variables: K6_AUTO_EXTENSION_RESOLUTION=false
// a module of k6 that is not there: exit code 107
import nothing from 'k6/nothing';

export default function () {
  console.log(nothing);
}
