// flags: -u 3 -i 6 --tag run=own -e OWN=1 --env OTHER=a=b --no-setup --summary-trend-stats=max,count
// flags of the command line come before options of the script: -u, -i, --tag, -e, --no-setup, --summary-trend-stats
import exec from 'k6/execution';

export const options = { vus: 1, duration: '60s', thresholds: { 'iterations{run:own}': ['count==6'] } };

export function setup() {
  console.log('setup');
}

export default function (data) {
  console.log(exec.scenario.executor, exec.scenario.iterationInTest, __ENV.OWN, __ENV.OTHER, __ENV.NONE, data);
}

export function handleSummary(data) {
  console.log(JSON.stringify(data.options.summaryTrendStats), Object.keys(data.metrics.iteration_duration.values).sort().join());
  return {};
}
