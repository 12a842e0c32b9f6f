import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createKubernetesProvider } from '../../../src/adapters/sandbox/kubernetes/kubernetes-provider.ts';
import type { Clock } from '../../../src/kernel/clock.ts';
import { digestBytes } from '../../../src/kernel/canonical-json.ts';
import { InfrastructureError } from '../../../src/kernel/errors.ts';
import type { SuiteDefinition } from '../../../src/orchestrator/suite/suite-definition.ts';
import type { Summary } from '../../../src/orchestrator/results/summary.ts';
import type { StoredCheckpoint } from '../../../src/policy-distribution/stored-checkpoint.ts';
import type { PoolConfig } from '../../../src/pool/planning/pool-config.ts';
import { EvaluationFixture, suiteWith, TEMPLATE } from '../evaluation-fixture.ts';
import { HurriedClock } from '../hurried-clock.ts';
import type { KubernetesContext } from './kubernetes-context.ts';
import { PodPart } from '../../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';

const EPISODES = 120;
const WEIGHTS = 'weights '.repeat(10_000);
/** No episode may be late because the clock runs fast, and none is given up because faults were many. */
const suiteOf = (episodes: number): SuiteDefinition => suiteWith({ stop: { rule: 'fixed', episodes }, episode: { seconds: 86_400 } });
const PATIENT = { maxAttempts: 1000, infrastructureRetries: 1000, retryMilliseconds: 20, stragglerMilliseconds: 3_600_000 };
/** Deadlines of seconds are what most faults are noticed by. */
const HURRY = 10;

/** What the image of these tests has: Perl's runner, which needs no packages. */
export const TINY_RUNNERS = { mounts: [{ source: path.join(import.meta.dirname, '../runners'), target: '/opt/runners' }] };

export type Ending = { readonly kind: 'official'; readonly official: string } | { readonly kind: 'infrastructure'; readonly code: string };

export interface PodEvaluation {
  readonly sandboxes?: number;
  readonly episodes?: number;
  readonly clock?: Clock;
  readonly pool?: Partial<PoolConfig>;
  /** The evaluation begins after it. */
  readonly whenStarted?: (fixture: EvaluationFixture) => Promise<void>;
}

/** One evaluation on the pods of a context, from an empty pool to a closed provider. */
export async function evaluateOnPods(context: KubernetesContext, options: PodEvaluation = {}): Promise<Ending> {
  const { sandboxes = 3, episodes = EPISODES, clock = new HurriedClock(HURRY), whenStarted } = options;
  const provider = createKubernetesProvider({ owner: context.newOwner(), clock, log: (message) => void context.log.push(message) });
  const template = {
    ...TEMPLATE,
    command: ['perl', '/opt/runners/tiny-runner.pl'],
    limits: { ...TEMPLATE.limits, memoryBytes: 2 ** 28 },
    providerPart: new PodPart(context.pod),
  };
  const pool = { maxCreationFailures: 1000, readySeconds: 600, heartbeatSeconds: 600, ...options.pool };
  try {
    await using fixture = new EvaluationFixture({ provider, template, clock, sandboxes, pool, evaluation: PATIENT });
    await fixture.started();
    await whenStarted?.(fixture);
    const summary: Summary = await fixture.evaluate(suiteOf(episodes), {}, checkpointIn(context.stateDir));
    return { kind: 'official', official: JSON.stringify(summary.official) };
  } catch (error) {
    if (error instanceof InfrastructureError) return { kind: 'infrastructure', code: error.code };
    throw error;
  }
}

function checkpointIn(directory: string): StoredCheckpoint {
  const hostPath = path.join(directory, 'weights');
  writeFileSync(hostPath, WEIGHTS);
  const digest = digestBytes(WEIGHTS);
  return { digest, kind: 'file', files: [{ path: 'weights', hostPath, size: WEIGHTS.length, digest }], labels: {} };
}
