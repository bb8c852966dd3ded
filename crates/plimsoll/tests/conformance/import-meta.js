const besides = import.meta.resolve('./files/echo.proto');
const text = open(import.meta.resolve('./files/echo.proto'));

export default function () {
  console.log(besides.startsWith('file:///'), besides.endsWith('/conformance/files/echo.proto'), text.includes('syntax'));
  console.log(Object.keys(import.meta).join(), import.meta.resolve('../a/./b.js').endsWith('/tests/a/b.js'));
}
