import { InfrastructureError, InputError } from '../../../../kernel/errors.ts';
import type { FetchWay } from '../../../../kernel/fetching.ts';
import type { DialBackSettings, NodeCacheTemplate, PodFetching, PodTemplate, PodTransport } from '../../../../pool/ports/pod-template.ts';
import type { SandboxTemplate } from '../../../../pool/ports/template.ts';
import type { PythonTemplateSettings } from '../../local/template/python-template.ts';
import { pullCommand } from '../../remote/pull-order.ts';
import { remoteTemplate } from '../../remote/remote-template.ts';

/** As configured: the image is to be given, the rest has defaults. */
export interface PodSettings extends Omit<PodTemplate, 'image' | 'transport' | 'fetching'> {
  readonly nodeCache?: NodeCacheTemplate | undefined;
  readonly image?: string | undefined;
  /** The interpreter in the image. */
  readonly python: string;
  readonly transport: PodTransport['kind'];
  readonly dialBack: Omit<DialBackSettings, 'kind' | 'python'>;
}

/** @throws InputError `template.no-image`; `template.not-local` as `remoteTemplate` does. */
export function podTemplate(name: string, settings: PythonTemplateSettings, kubernetes: PodSettings): SandboxTemplate {
  const { image, python, nodeCache: _caches, transport, dialBack, ...pod } = kubernetes;
  if (image === undefined) {
    throw new InputError(
      'template.no-image',
      `template "${name}": with provider: kubernetes it has to name an image; set kubernetes.image`,
    );
  }
  const fetching = fetchingOf(settings, kubernetes);
  const made = { ...pod, image, transport: transportOf(transport, dialBack, python), ...(fetching && { fetching }) };
  return { ...remoteTemplate(name, settings, python), pod: made };
}

/** @throws InfrastructureError when the template says nothing of pods: it was made for another provider. */
export function podOf({ name, pod }: SandboxTemplate): PodTemplate {
  if (pod) return pod;
  throw new InfrastructureError('template.no-pod', `template "${name}" does not say what its pods are made of`);
}

function transportOf(kind: PodTransport['kind'], dialBack: PodSettings['dialBack'], python: string): PodTransport {
  return kind === 'exec' ? { kind } : { kind, python, ...dialBack };
}

/** Undefined with a runner of one's own, whose image need not have a Python. */
function fetchingOf({ command }: PythonTemplateSettings, { python, network, nodeCache }: PodSettings): PodFetching | undefined {
  if (command !== undefined) return undefined;
  const ways: FetchWay[] = [...(nodeCache ? (['node-cache'] as const) : []), ...(network === 'none' ? [] : (['pull'] as const))];
  return { ways, command: pullCommand(python), ...(nodeCache && { nodeCache }) };
}
