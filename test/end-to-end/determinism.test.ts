import { describe, expect, it } from 'vitest';
import { ANYTHING, seedOf, Stage } from './stage.ts';

describe('an evaluation whose last episodes take long', () => {
  // Four episodes on four sandboxes. The first three stop at a gate; the sandbox of the fourth becomes free and plays the first
  // one a second time. Once that is through, the two sandboxes that played it take copies of the other two: both results are in by then.
  it.each([
    ['finds out that an environment is not deterministic', 'differs', [0]],
    ['plays them a second time, and finds nothing wrong with a deterministic environment', 'not at all', []],
  ])('%s', async (_, how, nonDeterministic) => {
    await using stage = await Stage.open();
    const gateOf = (index: number): string => `playing-${seedOf(index)}`;
    const [first, ...others] = [0, 1, 2].map(gateOf);
    if (first === undefined) throw new Error('there are three');
    await stage.closeGates(first, ...others);
    const evaluation = { stragglerMilliseconds: 1, stragglerFactor: 1 };
    const config = await stage.config({ evaluation });
    const suite = await stage.faultSuite({ how, episodes: [0], changes: { stop: { rule: 'fixed', episodes: 4 } } });
    const command = stage.start(['eval', suite, '-c', ANYTHING, '--json', '-n', '4', '--config', config]);
    await command.until('the first episode is played twice', async () => (await stage.countAt(first)) === 2);
    await stage.openGates(first);
    await command.until('the others are, too', async () => (await Promise.all(others.map((gate) => stage.countAt(gate)))).join() === '2,2');
    await stage.openGates(...others);
    const { run, warnings } = (await command.ended).summary();
    expect(run.duplicated).toBe(3);
    expect(run.nonDeterministic).toEqual(nonDeterministic);
    expect(warnings.some((warning) => warning.startsWith('not deterministic'))).toBe(nonDeterministic.length > 0);
  });
});
