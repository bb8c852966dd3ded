// open of a file that is not there: exit code 107
const text = open('./files/nothing.txt');

export default function () {
  console.log(text);
}
