import { mayBringCode, type Checkpoint } from '../../policy-distribution/checkpoint.ts';
import type { Exposure } from '../../pool/ports/exposure.ts';
import type { TaskEnvironment } from '../../runner/frames.ts';
import { isGymnasiumEnvironment, isHarmlessArgument, isKnownWrapper } from './known-entries.ts';
import type { SuiteDefinition } from './suite-definition.ts';

/**
 * Says what runs in the sandboxes of an evaluation. `data`: environments that Gymnasium registers itself, wrappers that are known to run nothing
 * else, and policies that are data. `code`: anything else, which may have changed its process, and so all later results from it.
 */
export type WhatRuns = 'data' | 'code';

/** @param checkpoints that are played on the suite's sandboxes. */
export function describeWhatRuns(
  { tasks, filesDigest }: Pick<SuiteDefinition, 'tasks' | 'filesDigest'>,
  checkpoints: readonly Pick<Checkpoint, 'files'>[],
): WhatRuns {
  return filesDigest === undefined && tasks.every(hasNoCalls) && !checkpoints.some(mayBringCode) ? 'data' : 'code';
}

/** Describes the exposure of a sandbox that plays the checkpoint for the principal. */
export function describeExposure(
  principal: string,
  suite: Pick<SuiteDefinition, 'tasks' | 'filesDigest' | 'digest'>,
  checkpoint: Pick<Checkpoint, 'files' | 'digest'>,
): Exposure {
  const kind = describeWhatRuns(suite, [checkpoint]);
  switch (kind) {
    case 'data':
      return { kind, principal };
    case 'code':
      return { kind, principal, suite: suite.digest, checkpoint: mayBringCode(checkpoint) ? checkpoint.digest : undefined };
  }
}

/** Whether creating the task runs nothing but known environments and wrappers. */
function hasNoCalls({ environment: { entry, kwargs, wrappers } }: { readonly environment: TaskEnvironment['environment'] }): boolean {
  return (
    isGymnasiumEnvironment(entry) &&
    isHarmless(kwargs) &&
    wrappers.every((wrapper) => isKnownWrapper(wrapper.entry) && isHarmless(wrapper.kwargs))
  );
}

function isHarmless(kwargs: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(kwargs).every(([name, value]) => isHarmlessArgument(name, value));
}
