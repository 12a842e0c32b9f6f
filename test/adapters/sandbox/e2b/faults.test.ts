import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { extent } from '../../../support/full-form.ts';
import { SkippableClock } from '../../../support/skippable-clock.ts';
import { FAULTS, type Fault, type FaultKind, type Route } from '../../../support/e2b/faults.ts';
import { useRealSockets } from '../../../support/e2b/real-sockets.ts';
import { type E2bRun, evaluateAtE2b } from './e2b-evaluation.ts';

useRealSockets();

const RUNS = extent({ short: 8, full: 200, variable: 'MUSTER_FAULT_RUNS' });

/** All that this evaluation asks for. It is over before a sandbox's time has to be extended. */
const ASKED: readonly Route[] = ['create', 'list', 'kill', 'template', 'start', 'input', 'upload', 'move'];
/** Where a fault has its effect, when that is not everywhere: in output, and in what a sandbox's own daemon is asked for. */
const EFFECTIVE: Partial<Record<FaultKind, readonly Route[]>> = { cut: ['start'], dies: ['input', 'upload', 'move'] };
/** Deadlines begin here: what they bound takes as long as the machine does. */
const DEADLINE_MS = 15_000;
/** Waits of seconds that the provider and the pool take after a failure pass sooner. */
class HastyClock extends SkippableClock {
  override after(delayMs: number, callback: () => void): Disposable {
    return super.after(delayMs >= DEADLINE_MS ? delayMs : delayMs / 50, callback);
  }
}

let calm: E2bRun;
/** In all runs so far. */
const struck: Fault[] = [];
beforeAll(async () => {
  calm = await evaluateAtE2b({ musterClock: new HastyClock() });
});

/** @param routes of faults that have to strike. */
async function endsWellDespite(faults: readonly Fault[], skewMs = 0, routes: readonly Route[] = []): Promise<string> {
  const run = await evaluateAtE2b({ faults, skewMs, musterClock: new HastyClock() });
  expect(run.left, 'sandboxes that were left').toBe(0);
  struck.push(...run.simulator.faults.struck);
  expect(run.simulator.faults.struck.map(({ route }) => route)).toEqual(expect.arrayContaining([...routes]));
  // Either the same result to the byte, or an error of its own kind and nothing that could be taken for a result.
  if (run.official === undefined) return `error ${run.error}`;
  expect(run.official).toBe(calm.official);
  return 'the same result';
}

test('without faults there is the official result, and nothing is left', () => {
  expect(calm).toMatchObject({ left: 0, official: expect.stringContaining('sha256') });
});

test.each(FAULTS)('%s, once on every kind of request, changes nothing in the result', async (kind: FaultKind) => {
  const faults = ASKED.map((route) => ({ route, nth: route === 'template' ? 1 : 2, kind }));
  const all = [...faults, { route: 'create', nth: 1, kind }, { route: 'start', nth: 1, kind }] as const;
  expect(await endsWellDespite(all, 0, EFFECTIVE[kind] ?? ASKED)).toBe('the same result');
});

test('a service whose clock is hours off changes nothing in the result', async () => {
  for (const skewMs of [-7_200_000, 7_200_000]) expect(await endsWellDespite([], skewMs)).toBe('the same result');
});

const faults: fc.Arbitrary<Fault[]> = fc.array(
  fc.record({ route: fc.constantFrom(...ASKED), nth: fc.integer({ min: 1, max: 12 }), kind: fc.constantFrom(...FAULTS) }),
  { maxLength: 25 },
);

test('random mixtures of faults give the same result, or an error with nothing scored', { timeout: 3_600_000 }, async () => {
  const ends: Record<string, number> = {};
  struck.length = 0;
  await fc.assert(
    fc.asyncProperty(faults, fc.integer({ min: -86_400_000, max: 86_400_000 }), async (script, skewMs) => {
      const end = await endsWellDespite(script, skewMs);
      ends[end] = (ends[end] ?? 0) + 1;
    }),
    { seed: 20_262, numRuns: RUNS },
  );
  expect(struck.length).toBeGreaterThanOrEqual(RUNS);
  expect(ends['the same result']).toBeGreaterThan(RUNS / 2);
});
