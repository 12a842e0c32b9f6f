import { describe, expect, it } from 'vitest';
import { parseSandboxId } from '../../src/kernel/ids.ts';
import { UsageMeter } from '../../src/orchestrator/run/usage-meter.ts';
import type { SandboxUsage } from '../../src/kernel/sandbox-usage.ts';
import { ManualClock } from '../support/manual-clock.ts';

describe('the meter of a sandbox', () => {
  it('looks no oftener than a hundred times a second over all sandboxes, and reports the latest in between', async () => {
    const { read, clock, looks } = fixture((look) => ({ cpuSeconds: look }));
    expect(await read(50, false)).toEqual({ cpuSeconds: 1 });
    await clock.advance(499);
    expect(await read(50, false)).toEqual({ cpuSeconds: 1 });
    await clock.advance(1);
    expect(await read(50, false)).toEqual({ cpuSeconds: 2 });
    expect(looks()).toBe(2);
  });

  it('looks at one sandbox no oftener than ten times a second, also when one evaluation follows on another', async () => {
    const { read, clock, looks } = fixture((look) => ({ cpuSeconds: look }));
    for (let evaluation = 0; evaluation < 40; evaluation += 1) {
      await read(4, false);
      await clock.advance(5);
    }
    expect(looks()).toBe(2);
  });

  it('looks once more when the program has ended', async () => {
    const { read } = fixture((look) => ({ cpuSeconds: look }));
    await read(1000, false);
    expect(await read(1000, true)).toEqual({ cpuSeconds: 2 });
  });

  it('keeps what it knows when there is nothing more to learn', async () => {
    const { read } = fixture((look) => (look === 1 ? { processes: 2 } : {}));
    await read(1, false);
    expect(await read(1, true)).toEqual({ processes: 2 });
  });

  it('fails no episode when nothing can be found out, and says why', async () => {
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
  const read = (sandboxes: number, isOver: boolean) => UsageMeter.of(sandbox).read(sandboxes, isOver, { clock, log });
  return { clock, warnings, looks: () => looks, read };
}
