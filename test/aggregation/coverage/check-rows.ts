import { measure } from '../../../bench/coverage/measurement.ts';
import { shortTasks } from '../../../bench/coverage/options.ts';
import { titleOf } from '../../../bench/coverage/scenario.ts';
import { hold } from '../../../bench/coverage/targets.ts';

// The rows of the short study that the arguments name, without a thread of their own and without tables. Ends with 1 when a target is missed.
const titles = new Set(process.argv.slice(2));
for (const { scenario, runs } of shortTasks()) {
  if (!titles.has(titleOf(scenario))) continue;
  const measurement = measure(scenario, 0, runs);
  for (const target of scenario.targets) {
    const { met, measured, target: wanted } = hold(measurement, target);
    process.stdout.write(`${met ? 'met   ' : 'MISSED'}  ${titleOf(scenario)}: ${target.figure}: ${measured}, target ${wanted}\n`);
    if (!met) process.exitCode = 1;
  }
}
