// a syntax error: exit code 107
export default function () {
  const two = 1 +;
}
