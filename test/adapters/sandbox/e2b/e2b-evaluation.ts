import { statSync } from 'node:fs';
import { createE2bProvider } from '../../../../src/adapters/sandbox/e2b/e2b-provider.ts';
import { createInMemoryProvider } from '../../../support/in-memory-sandbox/in-memory-provider.ts';
import { digestBytes } from '../../../../src/kernel/canonical-json.ts';
import { type Clock, systemClock } from '../../../../src/kernel/clock.ts';
import { MusterError } from '../../../../src/kernel/errors.ts';
import { parseOwnerId } from '../../../../src/kernel/ids.ts';
import type { EvaluationRunConfig } from '../../../../src/orchestrator/run/evaluate-context.ts';
import type { StoredCheckpoint } from '../../../../src/policy-distribution/stored-checkpoint.ts';
import type { PoolConfig } from '../../../../src/pool/planning/pool-config.ts';
import type { PoolState } from '../../../../src/pool/members/pool-state.ts';
import { MACHINE, PROJECT } from '../../../support/e2b/e2b-context.ts';
import { E2bSimulator, type SimulatorOptions } from '../../../support/e2b/simulator.ts';
import { eventually } from '../../../support/eventually.ts';
import { EvaluationFixture, type FixtureOptions, suiteWith, TEMPLATE } from '../../../support/evaluation-fixture.ts';
import { scriptedRunner } from '../../../support/in-memory-runner.ts';
import { E2bPart } from '../../../../src/adapters/sandbox/e2b/e2b-machine.ts';

const EPISODES = 60;
/** Scripted runners read only its digest, but it is sent to each of them. */
const CHECKPOINT: StoredCheckpoint = {
  digest: digestBytes('paper'),
  kind: 'file',
  files: [{ path: 'weights', digest: digestBytes('paper'), size: statSync(import.meta.filename).size, hostPath: import.meta.filename }],
  labels: {},
};

/** Returns and failures that the episode alone decides. */
const program = scriptedRunner(({ environmentSeed, policySeed }) =>
  environmentSeed % 13 === 0
    ? { failed: 'environment-crash', detail: 'scripted' }
    : { return: (environmentSeed % 1000) / 999, length: policySeed % 50 },
);

export interface E2bRun {
  /** The official summary's digest, or the code of the error that took its place. */
  readonly official?: string;
  readonly error?: string;
  readonly pool: PoolState;
  readonly simulator: E2bSimulator;
  /** Sandboxes that were left when all was closed. */
  readonly left: number;
}

export interface E2bRunOptions extends SimulatorOptions {
  readonly sandboxes?: number;
  readonly episodes?: number;
  readonly pool?: Partial<PoolConfig>;
  readonly evaluation?: Partial<EvaluationRunConfig>;
  /** Called when all sandboxes are ready, before the evaluation begins. */
  readonly whenReady?: () => void;
  /** Muster's clock. The simulator has its own. */
  readonly musterClock?: Clock;
}

/** One evaluation by the real provider and SDK over real sockets; only the programs in the sandboxes are functions instead of processes. */
export async function evaluateAtE2b({
  sandboxes = 4,
  episodes = EPISODES,
  pool = {},
  evaluation = {},
  musterClock = systemClock,
  whenReady,
  ...options
}: E2bRunOptions): Promise<E2bRun> {
  const machines = createInMemoryProvider({ owner: parseOwnerId('machines'), clock: systemClock, programs: { '/bin/bash': program } });
  const simulator = await E2bSimulator.open({ provider: machines, ...options });
  try {
    const result = await evaluate({ program, clock: musterClock, sandboxes, pool, evaluation }, simulator, episodes, whenReady);
    return { ...result, simulator, left: simulator.account.tenants.length };
  } finally {
    await simulator[Symbol.asyncDispose]();
  }
}

async function evaluate(
  options: FixtureOptions,
  simulator: E2bSimulator,
  episodes: number,
  whenReady: (() => void) | undefined,
): Promise<Pick<E2bRun, 'official' | 'error' | 'pool'>> {
  const { clock } = options;
  const provider = createE2bProvider({
    owner: parseOwnerId('fixture'),
    clock,
    account: simulator.credentials,
    projectDirectory: PROJECT,
    log: () => {},
  });
  await using fixture = new EvaluationFixture({ ...options, provider, template: { ...TEMPLATE, providerPart: new E2bPart(MACHINE) } });
  const { sandboxes = 0 } = options;
  try {
    if (whenReady) await eventually('all sandboxes are ready', () => fixture.poolState().sandboxes.idle === sandboxes);
    whenReady?.();
    const summary = await fixture.evaluate(suiteWith({ stop: { rule: 'fixed', episodes } }), {}, CHECKPOINT);
    return { official: digestBytes(JSON.stringify(summary.official)), pool: fixture.poolState() };
  } catch (error) {
    if (!(error instanceof MusterError) || error.kind !== 'infrastructure') throw error;
    return { error: error.code, pool: fixture.poolState() };
  }
}
