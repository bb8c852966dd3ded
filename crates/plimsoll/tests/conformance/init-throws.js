// code outside of functions that throws: exit code 107
export const options = { iterations: 2 };

if (options.iterations === 2) {
  throw new Error('no init');
}

export default function () {
  console.log('iteration');
}
