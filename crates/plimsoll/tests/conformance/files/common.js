const { double } = require('./numbers.js');

module.exports = { name: 'common', twice: (n) => double(n) };
