// flags: --config nope.json
export default function () {}
