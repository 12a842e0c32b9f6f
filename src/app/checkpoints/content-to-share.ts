import type { EpisodeTurns } from '../../agents/acting/model/stored-turns.ts';
import type { TrajectoryDirectory } from '../../adapters/files/trajectory-directory.ts';
import type { Config } from '../../config/config.ts';
import type { TemplateConfig } from '../../config/schema.ts';
import type { SuiteDefinition } from '../../orchestrator/suite/suite-definition.ts';
import { mayBringCode } from '../../policy-distribution/checkpoint.ts';
import type { StoredCheckpoint } from '../../policy-distribution/stored-checkpoint.ts';
import type { Distributor } from '../../policy-distribution/delivery/distributor.ts';
import type { PolicyPlacement } from '../../pool/ports/policy-apart.ts';
import type { SharedCode, SharedContent, SharedPolicy } from '../../pool/ports/shared-content.ts';

/**
 * Bytes from which on a policy deserves a process that holds it for all sandboxes: loading it takes longer than making new sandboxes, and its copies
 * more memory than the sandboxes.
 */
const WORTH_SHARING_BYTES = 4 * 2 ** 20;

/** The settings that decide sharing: the template's own, and how many episodes a sandbox plays. */
export type SharingSettings = Pick<TemplateConfig, 'sharedPolicies' | 'sharedCode'> &
  Pick<Config['pool'], 'episodesPerSandbox'> & { readonly policy: PolicyPlacement };

export interface Played {
  readonly suite: SuiteDefinition;
  readonly suiteFiles: StoredCheckpoint | undefined;
  readonly checkpoints: readonly StoredCheckpoint[];
  /** The directory that stores the trajectories of models. When it is undefined, they are not stored. */
  readonly trajectories?: TrajectoryDirectory | undefined;
  /** Stores the turns of models during their episodes. When it is undefined, an interrupted episode queries its model again. */
  readonly storedTurns?: { readonly turns: EpisodeTurns; readonly principal: string } | undefined;
}

/** Lists what the sandboxes of an evaluation have in memory from their start, by the template's settings. Part of the composition root. */
export function listContentToShare(played: Played, wished: SharingSettings, distributor: Distributor): readonly SharedContent[] {
  const { suite, suiteFiles, checkpoints } = played;
  // A policy that is played apart must not find a suite's code in memory, nor run its own code before it is behind its walls.
  const settings = wished.policy === 'apart' ? { ...wished, sharedCode: [] } : wished;
  const policies = checkpoints
    .filter((checkpoint) => isWorthSharing(checkpoint, settings))
    .map((each) => listSharedPolicy(each, settings, distributor));
  return suiteFiles && settings.sharedCode.includes(suite.name) ? [listSharedCode(suite, suiteFiles, distributor), ...policies] : policies;
}

/** The process that loads a directory finds out what of it is data. */
function isWorthSharing(checkpoint: StoredCheckpoint, { sharedPolicies, sharedCode, episodesPerSandbox }: SharingSettings): boolean {
  if (sharedCode.includes(checkpoint.digest)) return true;
  if (sharedPolicies === 'never' || (mayBringCode(checkpoint) && checkpoint.kind === 'file')) return false;
  // Sandboxes that last for one episode would load it for each. Only one that is surely data is worth the attempt.
  if (episodesPerSandbox === 1 && !mayBringCode(checkpoint)) return true;
  return checkpoint.files.reduce((sum, { size }) => sum + size, 0) >= WORTH_SHARING_BYTES;
}

function listSharedPolicy(
  stored: StoredCheckpoint,
  { sharedCode }: Pick<TemplateConfig, 'sharedCode'>,
  distributor: Distributor,
): SharedPolicy {
  return {
    kind: 'policy',
    digest: stored.digest,
    trusted: sharedCode.includes(stored.digest),
    deliver: (target, signal) => distributor.deliver(stored, target, signal),
  };
}

function listSharedCode(suite: SuiteDefinition, files: StoredCheckpoint, distributor: Distributor): SharedCode {
  const entries = suite.tasks.flatMap(({ environment }) => [environment, ...environment.wrappers]).map(({ entry }) => entry);
  const modules = entries.map((entry) => entry.split(':')[0] ?? '').filter((module) => module !== 'gymnasium');
  return {
    kind: 'code',
    digest: files.digest,
    modules: [...new Set(modules)],
    deliver: (target, signal) => distributor.deliver(files, target, signal),
  };
}
