import type { FetchWay } from '../../../kernel/fetching.ts';
import { createProviderPlugin, type Refusal } from '../../../pool/ports/provider-plugin.ts';
import { assertReadable, listDialBackFiles } from '../remote/named-files.ts';
import { createTemplateForPods, createWorkspaceForPods } from './pods/kubernetes-template.ts';
import { kubernetesSchema, type KubernetesConfig } from './settings/schema.ts';

export const kubernetes = createProviderPlugin({
  name: 'kubernetes',
  summary: 'the pods of a cluster',
  settings: kubernetesSchema,
  isOwnMachine: false,
  playsApart: false,
  async open(host, own) {
    // The cluster's client would cost every command half a second.
    const { createKubernetesProvider } = await import('./kubernetes-provider.ts');
    // A template without an image has no pods anywhere, and is refused when it is used.
    return createKubernetesProvider({ ...host, places: own.filter(({ image }) => image !== undefined) });
  },
  async template(name, settings, own) {
    const template = createTemplateForPods(name, settings, own);
    await assertReadable(name, {
      'kubernetes.kubeconfig': own.kubeconfig === 'auto' ? undefined : own.kubeconfig,
      ...(own.transport === 'dial-back' && listDialBackFiles('kubernetes', own.dialBack)),
    });
    return template;
  },
  workspace: (name, settings, own) => createWorkspaceForPods(name, settings, own),
  refusesFetching,
});

function refusesFetching(way: FetchWay, { network, nodeCache }: KubernetesConfig): Refusal | undefined {
  switch (way) {
    case 'pull':
      if (network !== 'none') return undefined;
      return {
        problem: 'kubernetes.network is none, so pods reach nothing',
        remedy: 'set kubernetes.network to origin, and apply deploy/kubernetes/origin-policy.yaml',
      };
    case 'shared-cache':
      if (nodeCache !== undefined) return undefined;
      return {
        problem: 'kubernetes.nodeCache does not say where the caches are',
        remedy: 'apply deploy/kubernetes/node-cache, and set kubernetes.nodeCache',
      };
  }
}
