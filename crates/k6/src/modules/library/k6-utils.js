// Implements https://jslib.k6.io/k6-utils: helpers of load scripts.

import { check as checkAll } from 'k6';
import { randomBytes } from 'k6/crypto';
import exec from 'k6/execution';

export function randomIntBetween(min, max) {
  return Math.floor(Math.random() * (max - min + 1) + min);
}

export function randomItem(items) {
  return items[Math.floor(Math.random() * items.length)];
}

export function randomString(length, charset = 'abcdefghijklmnopqrstuvwxyz') {
  return Array.from({ length }, () => charset[Math.floor(Math.random() * charset.length)]).join('');
}

// Version 4 of RFC 9562: all but six bits are random.
export function uuidv4(secure = false) {
  const bytes = secure
    ? new Uint8Array(randomBytes(16))
    : Uint8Array.from({ length: 16 }, () => Math.floor(Math.random() * 256));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

// What is between `left` and `right`: the first, or with `repeat` an array of all; `null` where there is none.
export function findBetween(content, left, right, repeat = false) {
  const found = [];
  let from = 0;
  do {
    const begin = content.indexOf(left, from);
    const end = begin < 0 ? -1 : content.indexOf(right, begin + left.length);
    if (end < 0) {
      break;
    }
    found.push(content.slice(begin + left.length, end));
    from = end + right.length;
  } while (repeat && from < content.length);
  if (found.length === 0) {
    return null;
  }
  return repeat ? found : found[0];
}

// Stages whose targets follow a bell curve, from two standard deviations before its peak to two after it, and then end at 0.
// The first and the last take a sixth of the time each.
export function normalDistributionStages(maxVus, durationSeconds, numberOfStages = 10) {
  const heights = Array.from({ length: numberOfStages + 1 }, (_, at) => Math.exp(-((-2 + (4 * at) / numberOfStages) ** 2) / 2));
  const highest = Math.max(...heights);
  const stages = heights.map((height, at) => ({
    duration: `${Math.ceil(at === 0 ? durationSeconds / 6 : (4 * durationSeconds) / 6 / numberOfStages)}s`,
    target: Math.round((maxVus * height) / highest),
  }));
  stages.push({ duration: `${Math.ceil(durationSeconds / 6)}s`, target: 0 });
  return stages;
}

const isPromise = (value) => typeof value?.then === 'function';

// As `check` of k6; with a value or a result that is a promise it returns one itself.
export function check(value, checks, tags) {
  if (isPromise(value)) {
    return value.then((awaited) => check(awaited, checks, tags));
  }
  const waiting = [];
  let passed = true;
  for (const [name, is] of Object.entries(checks)) {
    let result = is;
    if (typeof is === 'function') {
      try {
        result = is(value);
      } catch (error) {
        checkAll(value, { [name]: () => { throw error; } }, tags);
      }
    }
    if (isPromise(result)) {
      waiting.push(result.then((awaited) => checkAll(value, { [name]: awaited }, tags)));
    } else {
      passed = checkAll(value, { [name]: result }, tags) && passed;
    }
  }
  return waiting.length === 0 ? passed : Promise.all(waiting).then((all) => passed && all.every(Boolean));
}

const MILLISECONDS = { d: 864e5, h: 36e5, m: 6e4, s: 1e3, ms: 1, us: 1e-3, 'µs': 1e-3, ns: 1e-6 };

// A duration such as `1h30m` in milliseconds; a number is one already.
export function parseDuration(duration) {
  const text = String(duration).trim();
  if (text !== '' && Number.isFinite(Number(text))) {
    return Number(text);
  }
  const parts = [...text.matchAll(/(\d+\.?\d*|\.\d+)(ms|us|µs|ns|d|h|m|s)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) {
    throw new Error(`"${duration}" is not a duration such as "1h30m"`);
  }
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * MILLISECONDS[unit], 0);
}

function stagesOfScenario() {
  const { stages } = exec.test.options.scenarios[exec.scenario.name];
  if (!stages || stages.length === 0) {
    throw new Error(`the scenario "${exec.scenario.name}" has no stages: its executor is ${exec.scenario.executor}`);
  }
  return stages;
}

// The number of the stage that is under way, from 0; the last one where all are over.
export function getCurrentStageIndex() {
  const stages = stagesOfScenario();
  let left = Date.now() - exec.scenario.startTime;
  const at = stages.findIndex(({ duration }) => (left -= parseDuration(duration)) < 0);
  return at < 0 ? stages.length - 1 : at;
}

export function tagWithCurrentStageIndex() {
  exec.vu.tags.stage = getCurrentStageIndex();
}

// Tags with `ramp-up`, `steady` or `ramp-down`, by the targets of this stage and the one before it.
export function tagWithCurrentStageProfile() {
  const stages = stagesOfScenario();
  const at = getCurrentStageIndex();
  const { startVUs, startRate } = exec.test.options.scenarios[exec.scenario.name];
  const before = at > 0 ? stages[at - 1].target : startVUs || startRate || 0;
  const profiles = ['ramp-down', 'steady', 'ramp-up'];
  exec.vu.tags.stage_profile = profiles[Math.sign(stages[at].target - before) + 1];
}
