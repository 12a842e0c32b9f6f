import { z } from 'zod';
import { createAbortError } from '../../../kernel/abort.ts';
import { type OwnerId, parseOwnerId, parseSandboxId, type SandboxId } from '../../../kernel/ids.ts';
import type { SandboxSpec } from '../../../pool/ports/sandbox.ts';
import { identifyThisProcess, locateProcess, processSchema } from '../local/owner-record.ts';
import type { BuildService } from './build-service.ts';
import { getBuild } from './settings.ts';

/** Tag of the builds of any Muster. */
export const TAG = 'muster-sandbox';
const LABEL = 'MUSTER_LABEL=';
/** Google's own bound of a build's time. */
const LONGEST_SECONDS = 86_400;

const labelSchema = z.object({ owner: z.string(), id: z.string(), process: processSchema });

/** Describes the request to Cloud Build. @param variables of the step. */
export async function describeNewBuild({ id, template }: SandboxSpec, owner: OwnerId, variables: readonly string[]): Promise<object> {
  const { image, serviceAccount, project, machineType, workerPool, queueSeconds, dialBack } = getBuild(template);
  const label = `${LABEL}${JSON.stringify({ owner, id, process: await identifyThisProcess() })}`;
  const step = { name: image, entrypoint: dialBack.python, args: ['-I', dialBack.dialler], env: [...variables, label] };
  return {
    // Cloud Build would substitute anything that looks like a variable.
    steps: [{ ...step, args: step.args.map(escapeDollars), env: step.env.map(escapeDollars) }],
    timeout: `${Math.ceil(Math.min(LONGEST_SECONDS, template.limits.lifetimeSeconds + 60))}s`,
    queueTtl: `${Math.ceil(queueSeconds)}s`,
    tags: [TAG, `${TAG}-${owner}`.slice(0, 128)],
    serviceAccount: `projects/${project}/serviceAccounts/${serviceAccount}`,
    options: {
      // Every other kind of logging needs a role.
      logging: 'NONE',
      ...(machineType === undefined ? {} : { machineType }),
      ...(workerPool === undefined ? {} : { pool: { name: workerPool } }),
    },
  };
}

/**
 * Cancels the builds of owners that no longer run on this machine. Those of other machines end by themselves within minutes when their Muster is
 * gone. @returns the ids of their sandboxes.
 */
export async function sweepBuilds(service: BuildService, self: OwnerId, signal: AbortSignal): Promise<readonly SandboxId[]> {
  const swept: SandboxId[] = [];
  for (const build of await service.listRunning(TAG, signal)) {
    if (signal.aborted) throw createAbortError(signal);
    const label = readLabel(build.steps.flatMap(({ env }) => env));
    if (label === undefined || label.owner === self || (await locateProcess(label.process)) !== 'gone') continue;
    await service.cancel(build.id, signal);
    swept.push(label.id);
  }
  return swept;
}

/** @returns undefined for variables that no Muster wrote: the sweep ignores such a build. */
function readLabel(variables: readonly string[]): { owner: OwnerId; id: SandboxId; process: z.infer<typeof processSchema> } | undefined {
  try {
    const text = variables.find((each) => each.startsWith(LABEL))?.slice(LABEL.length) ?? '';
    const { owner, id, process } = labelSchema.parse(JSON.parse(text));
    return { owner: parseOwnerId(owner), id: parseSandboxId(id), process };
  } catch {
    return undefined;
  }
}

function escapeDollars(text: string): string {
  return text.replaceAll('$', '$$$$');
}
