import { describe, expect, it } from 'vitest';
import { parseSandboxId } from '../../src/kernel/ids.ts';
import { UsageMeter } from '../../src/orchestrator/usage-meter.ts';
import type { SandboxUsage } from '../../src/kernel/sandbox-usage.ts';
import { ManualClock } from '../support/manual-clock.ts';

describe('the meter of a sandbox', () => {
  it('looks no oftener than a hundred times a second over all sandboxes, and tells the latest in between', async () => {
    const { meter, clock, looks } = scene((look) => ({ cpuSeconds: look }));
    expect(await meter.read(50, false)).toEqual({ cpuSeconds: 1 });
    await clock.advance(499);
    expect(await meter.read(50, false)).toEqual({ cpuSeconds: 1 });
    await clock.advance(1);
    expect(await meter.read(50, false)).toEqual({ cpuSeconds: 2 });
    expect(looks()).toBe(2);
  });

  it('looks once more when the program has ended', async () => {
    const { meter } = scene((look) => ({ cpuSeconds: look }));
    await meter.read(1000, false);
    expect(await meter.read(1000, true)).toEqual({ cpuSeconds: 2 });
  });

  it('keeps what it knows when there is nothing more to learn', async () => {
    const { meter } = scene((look) => (look === 1 ? { processes: 2 } : {}));
    await meter.read(1, false);
    expect(await meter.read(1, true)).toEqual({ processes: 2 });
  });

  it('fails no episode when nothing can be found out, and says why', async () => {
    const { meter, warnings } = scene(() => {
      throw new Error('the group is gone');
    });
    expect(await meter.read(1, false)).toBeUndefined();
    expect(warnings).toEqual([{ sandbox: 's1', reason: 'the group is gone' }]);
  });
});

function scene(answer: (look: number) => SandboxUsage) {
  const clock = new ManualClock();
  const warnings: object[] = [];
  let looks = 0;
  const sandbox = { id: parseSandboxId('s1'), usage: async () => answer((looks += 1)) };
  const log = { warn: (details: object) => void warnings.push(details) };
  return { clock, warnings, looks: () => looks, meter: new UsageMeter(sandbox, clock, log) };
}
