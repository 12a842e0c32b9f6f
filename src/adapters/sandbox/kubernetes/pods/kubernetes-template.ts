import { stat } from 'node:fs/promises';
import { InfrastructureError, InputError } from '../../../../kernel/errors.ts';
import type { FetchWay } from '../../../../kernel/fetching.ts';
import {
  PodPart,
  getPodPart,
  type DialBackSettings,
  type NodeCacheTemplate,
  type PodFetching,
  type PodTemplate,
  type PodTransport,
} from '../settings/pod-template.ts';
import type { WorkspaceSettings } from '../../../../pool/ports/provider-plugin.ts';
import type { Mount, SandboxTemplate } from '../../../../pool/ports/template.ts';
import type { TemplateSettings } from '../../../../pool/ports/template-settings.ts';
import { createPullCommand } from '../../remote/pull-order.ts';
import { createRemoteTemplate } from '../../remote/remote-template.ts';
import { createRemoteWorkspace } from '../../remote/remote-workspace.ts';

/** The configured settings: the image is required, the others have defaults. */
export interface PodSettings extends Omit<PodTemplate, 'image' | 'transport' | 'fetching'> {
  readonly nodeCache?: NodeCacheTemplate | undefined;
  readonly image?: string | undefined;
  /** The interpreter in the image. */
  readonly python: string;
  readonly transport: 'exec' | 'dial-back';
  readonly dialBack: Omit<DialBackSettings, 'kind' | 'provider' | 'python'>;
}

/** @throws InputError `template.no-image`; `template.not-local` as `createRemoteTemplate` does. */
export function createTemplateForPods(name: string, settings: TemplateSettings, kubernetes: PodSettings): SandboxTemplate {
  const { python, nodeCache: _caches, transport, dialBack, ...pod } = kubernetes;
  const image = requireImage(name, kubernetes);
  const fetching = getFetching(settings, kubernetes);
  const made = { ...pod, image, transport: getTransport(transport, dialBack, python), ...(fetching && { fetching }) };
  return { ...createRemoteTemplate(name, settings, python), providerPart: new PodPart(made) };
}

/**
 * Creates a pod in which commands are run; it has no network in any case.
 *
 * @throws InputError `template.no-image`, `template.no-workspace`, `template.invalid`; `template.not-local` as `createRemoteWorkspace` does.
 */
export async function createWorkspaceForPods(name: string, settings: WorkspaceSettings, kubernetes: PodSettings): Promise<SandboxTemplate> {
  const { python, nodeCache: _caches, transport, dialBack: _dialBack, ...pod } = kubernetes;
  const image = requireImage(name, kubernetes);
  const problem =
    transport === 'dial-back' ? 'kubernetes.transport is dial-back' : pod.claims && 'kubernetes.claims has others make the pods';
  if (problem !== undefined) {
    const why = 'Muster makes the pods of workspaces itself, and attaches to their first process';
    const remedy = 'set transport to exec, and leave out claims, in templates.local.kubernetes';
    throw new InputError('template.no-workspace', `template "${name}": ${problem}, but ${why}; ${remedy}`);
  }
  await assertDirectories(name, settings.mounts);
  const place = { python, sandboxes: 'pods', image: 'kubernetes.image' };
  const made = { ...pod, image, network: 'none', transport: { kind: 'attach' } } as const;
  return { ...createRemoteWorkspace(name, settings, place), providerPart: new PodPart(made) };
}

/** A volume is a directory. */
async function assertDirectories(name: string, mounts: readonly Mount[]): Promise<void> {
  for (const { source } of mounts) {
    if ((await stat(source)).isDirectory()) continue;
    throw new InputError(
      'template.invalid',
      `template "${name}": mounts has ${source}, a file; expected directories: mount the one it is in`,
    );
  }
}

function requireImage(name: string, { image }: PodSettings): string {
  if (image !== undefined) return image;
  throw new InputError('template.no-image', `template "${name}": with provider: kubernetes it must name an image; set kubernetes.image`);
}

/** @throws InfrastructureError when the template has no settings for pods: it was made for another provider. */
export function getPod(template: SandboxTemplate): PodTemplate {
  const pod = getPodPart(template);
  if (pod) return pod;
  throw new InfrastructureError('template.no-pod', `template "${template.name}" has no settings for pods`);
}

function getTransport(kind: PodSettings['transport'], dialBack: PodSettings['dialBack'], python: string): PodTransport {
  return kind === 'exec' ? { kind } : { kind, provider: 'kubernetes', python, ...dialBack };
}

/** Returns undefined for another runner, whose image need not have a Python. */
function getFetching({ command }: TemplateSettings, { python, network, nodeCache }: PodSettings): PodFetching | undefined {
  if (command !== undefined) return undefined;
  const ways: FetchWay[] = [...(nodeCache ? (['shared-cache'] as const) : []), ...(network === 'none' ? [] : (['pull'] as const))];
  return { ways, command: createPullCommand(python), ...(nodeCache && { nodeCache }) };
}
