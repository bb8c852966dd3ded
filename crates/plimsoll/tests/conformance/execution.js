// k6/execution: vu, scenario, instance, test.options
import exec from 'k6/execution';

export const options = { scenarios: { only: { executor: 'shared-iterations', vus: 1, iterations: 2 } } };

export default function () {
  exec.vu.tags.own = `number ${exec.vu.iterationInInstance}`;
  console.log(exec.vu.idInInstance, exec.vu.idInTest, exec.vu.iterationInInstance, exec.vu.iterationInScenario, exec.vu.tags.own);
  console.log(exec.scenario.name, exec.scenario.executor, exec.scenario.iterationInInstance, exec.scenario.iterationInTest);
  console.log(exec.scenario.progress >= 0 && exec.scenario.progress <= 1, typeof exec.scenario.startTime);
  console.log(exec.instance.vusActive, exec.instance.vusInitialized, exec.instance.iterationsCompleted, exec.instance.iterationsInterrupted);
  console.log(exec.test.options.scenarios.only.executor);
}
