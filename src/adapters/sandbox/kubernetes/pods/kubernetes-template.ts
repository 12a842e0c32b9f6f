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
import type { SandboxTemplate } from '../../../../pool/ports/template.ts';
import type { TemplateSettings } from '../../../../pool/ports/template-settings.ts';
import { createPullCommand } from '../../remote/pull-order.ts';
import { createRemoteTemplate } from '../../remote/remote-template.ts';

/** As configured: the image is required, the rest has defaults. */
export interface PodSettings extends Omit<PodTemplate, 'image' | 'transport' | 'fetching'> {
  readonly nodeCache?: NodeCacheTemplate | undefined;
  readonly image?: string | undefined;
  /** The interpreter in the image. */
  readonly python: string;
  readonly transport: PodTransport['kind'];
  readonly dialBack: Omit<DialBackSettings, 'kind' | 'provider' | 'python'>;
}

/** @throws InputError `template.no-image`; `template.not-local` as `createRemoteTemplate` does. */
export function createTemplateForPods(name: string, settings: TemplateSettings, kubernetes: PodSettings): SandboxTemplate {
  const { image, python, nodeCache: _caches, transport, dialBack, ...pod } = kubernetes;
  if (image === undefined) {
    throw new InputError(
      'template.no-image',
      `template "${name}": with provider: kubernetes it has to name an image; set kubernetes.image`,
    );
  }
  const fetching = getFetching(settings, kubernetes);
  const made = { ...pod, image, transport: getTransport(transport, dialBack, python), ...(fetching && { fetching }) };
  return { ...createRemoteTemplate(name, settings, python), providerPart: new PodPart(made) };
}

/** @throws InfrastructureError when the template says nothing of pods: it was made for another provider. */
export function getPod(template: SandboxTemplate): PodTemplate {
  const pod = getPodPart(template);
  if (pod) return pod;
  throw new InfrastructureError('template.no-pod', `template "${template.name}" does not say what its pods are made of`);
}

function getTransport(kind: PodTransport['kind'], dialBack: PodSettings['dialBack'], python: string): PodTransport {
  return kind === 'exec' ? { kind } : { kind, provider: 'kubernetes', python, ...dialBack };
}

/** Undefined with a runner of one's own, whose image need not have a Python. */
function getFetching({ command }: TemplateSettings, { python, network, nodeCache }: PodSettings): PodFetching | undefined {
  if (command !== undefined) return undefined;
  const ways: FetchWay[] = [...(nodeCache ? (['shared-cache'] as const) : []), ...(network === 'none' ? [] : (['pull'] as const))];
  return { ways, command: createPullCommand(python), ...(nodeCache && { nodeCache }) };
}
