import { describe, expect, it } from 'vitest';
import { parseSandboxId } from '../../src/kernel/ids.ts';
import { UsageMeter } from '../../src/orchestrator/run/usage-meter.ts';
import type { SandboxUsage } from '../../src/kernel/sandbox-usage.ts';
import { ManualClock } from '../support/manual-clock.ts';

describe('the meter of a sandbox', () => {
  it('measures all sandboxes at most a hundred times a second, and reports the latest figures in between', async () => {
    const { read, clock, looks } = fixture((look) => ({ cpuSeconds: look }));
    expect(await read(50, false)).toEqual({ cpuSeconds: 1 });
    await clock.advance(499);
    expect(await read(50, false)).toEqual({ cpuSeconds: 1 });
    await clock.advance(1);
    expect(await read(50, false)).toEqual({ cpuSeconds: 2 });
    expect(looks()).toBe(2);
  });

  it('measures one sandbox at most ten times a second, also across evaluations', async () => {
    const { read, clock, looks } = fixture((look) => ({ cpuSeconds: look }));
    for (let evaluation = 0; evaluation < 40; evaluation += 1) {
      await read(4, false);
      await clock.advance(5);
    }
    expect(looks()).toBe(2);
  });

  it('measures once more when the program has ended', async () => {
    const { read } = fixture((look) => ({ cpuSeconds: look }));
    await read(1000, false);
    expect(await read(1000, true)).toEqual({ cpuSeconds: 2 });
  });

  it('keeps its figures when there are no new ones', async () => {
    const { read } = fixture((look) => (look === 1 ? { processes: 2 } : {}));
    await read(1, false);
    expect(await read(1, true)).toEqual({ processes: 2 });
  });

  it('fails no episode when it cannot measure, and reports the reason', async () => {
    const { read, warnings } = fixture(() => {
      throw new Error('the group is gone');
    });
    expect(await read(1, false)).toBeUndefined();
    expect(warnings).toEqual([{ sandbox: 's1', reason: 'the group is gone' }]);
  });
});

function fixture(answer: (look: number) => SandboxUsage) {
  const clock = new ManualClock();
  const warnings: object[] = [];
  let looks = 0;
  const sandbox = { id: parseSandboxId('s1'), capabilities: { usage: async () => answer((looks += 1)) } };
  const log = { warn: (details: object) => void warnings.push(details) };
  const read = (sandboxes: number, isOver: boolean) => UsageMeter.get(sandbox).read(sandboxes, isOver, { clock, log });
  return { clock, warnings, looks: () => looks, read };
}
