import { expect, test } from 'vitest';
import { measure } from '../../../bench/coverage/measurement.ts';
import { shortTasks } from '../../../bench/coverage/options.ts';
import { titleOf } from '../../../bench/coverage/scenario.ts';
import { SHORT_FORM } from '../../../bench/coverage/scenarios.ts';
import { hold } from '../../../bench/coverage/targets.ts';

const tasks = shortTasks();

test('every row of the short form is one of the study, and has a target', () => {
  expect(tasks.map(({ scenario }) => titleOf(scenario)).sort()).toEqual([...SHORT_FORM.keys()].sort());
  for (const { scenario } of tasks) expect(scenario.targets).not.toEqual([]);
});

test.each(tasks.map(({ scenario, runs }) => ({ title: titleOf(scenario), scenario, runs })))(
  'simulated evaluations keep what is promised: $title',
  ({ scenario, runs }) => {
    const measurement = measure(scenario, 0, runs);
    for (const target of scenario.targets) expect({ figure: target.figure, ...hold(measurement, target) }).toMatchObject({ met: true });
  },
);
