// ES modules, relative imports, require, JSON
import answer, { double } from './files/numbers.js';
import * as all from './files/numbers.js';

const common = require('./files/common.js');

export const options = { iterations: 1 };

export default function () {
  console.log(answer, double(4), Object.keys(all).sort().join());
  console.log(common.name, common.twice(5), typeof require);
}
