import type { Clock } from '../../kernel/clock.ts';
import { Deadline } from '../../kernel/deadline.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { Distributor, Inbox } from '../../policy-distribution/delivery/distributor.ts';
import type { StoredCheckpoint } from '../../policy-distribution/stored-checkpoint.ts';
import type { Exposure } from '../../pool/ports/exposure.ts';
import type { Lease } from '../../pool/ports/lease.ts';
import type { RunnerSession } from '../../runner/session.ts';
import { getBatching } from '../suite/play.ts';
import type { SuiteDefinition } from '../suite/suite-definition.ts';

/** What a sandbox plays. */
export interface LoadedContent {
  readonly suite: SuiteDefinition;
  /** The suite's own modules, if it ships any. */
  readonly suiteFiles: StoredCheckpoint | undefined;
  readonly checkpoint: StoredCheckpoint;
}

export interface LoadContext {
  /** What the content exposes the sandbox to; the lease was taken for this. */
  readonly exposure: Exposure;
  readonly distributor: Distributor;
  readonly clock: Clock;
  readonly config: { readonly loadMilliseconds: number; readonly beginMilliseconds: number };
}

export interface LoadWishes {
  /** Whether this very policy was loaded elsewhere on the machine and verified there. */
  readonly isVerified?: boolean;
  /** Environment seed of the episode to record. */
  readonly recordedSeed?: number;
}

/**
 * Delivers a policy and a suite's modules into a leased sandbox and has its runner load them.
 *
 * @returns the runner's warnings, as text. @throws InputError when the runner refuses them; InfrastructureError when it takes longer than
 * it may; the signal's reason.
 */
export async function loadSandbox(
  lease: Lease<RunnerSession>,
  { suite, suiteFiles, checkpoint }: LoadedContent,
  { exposure, distributor, clock, config }: LoadContext,
  signal: AbortSignal,
  { isVerified = false, recordedSeed }: LoadWishes = {},
): Promise<readonly string[]> {
  using deadline = new Deadline(clock, config.loadMilliseconds, () => createLoadTimeout(config.loadMilliseconds), signal);
  const modules = suiteFiles ? await distributor.deliver(suiteFiles, lease.sandbox, deadline.signal) : null;
  const path = await distributor.deliver(checkpoint, getPolicyInbox(lease), deadline.signal);
  const batching = getBatching(suite.play, suite.episodeSeconds);
  return await lease.occupant.load(
    {
      policy: { path, digest: checkpoint.digest, ...(isVerified && { verified: true }) },
      code: modules,
      tasks: suite.tasks.map(({ name, environment }) => ({ name, environment })),
      actions: suite.actions,
      metrics: suite.metrics,
      ...(batching && { batching }),
      ...(recordedSeed !== undefined && { recordedSeed }),
    },
    { episodeMilliseconds: suite.episodeSeconds * 1000, beginMilliseconds: config.beginMilliseconds, exposure },
    deadline.signal,
  );
}

/** A policy that is played apart has its own files, which the environment does not see. */
export function getPolicyInbox({ sandbox }: Lease<RunnerSession>): Inbox {
  return sandbox.capabilities?.policy ?? sandbox;
}

export function createLoadTimeout(milliseconds: number): InfrastructureError {
  return new InfrastructureError('runner.load-timeout', `loading the checkpoint took more than ${milliseconds} ms`);
}
