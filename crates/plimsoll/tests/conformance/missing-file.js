// import of a file that is not there: exit code 107
import nothing from './files/nothing.js';

export default function () {
  console.log(nothing);
}
