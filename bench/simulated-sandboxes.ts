import { E2bContext } from '../test/support/e2b/e2b-context.ts';
import { dialBackImage } from '../test/support/kubernetes/dial-back-image.ts';
import { KubernetesContext } from '../test/support/kubernetes/kubernetes-context.ts';
import type { FarEndAccess, FarEndKind } from './far-end.ts';

/** A simulated cluster, or E2B, in a process of its own, whose sandboxes are real local ones: `simulated-sandboxes.ts KIND`. */
const [kind] = process.argv.slice(2);
if (!process.send) throw new Error('started by far-end.ts only');
const opening = open(kind);
process.once('disconnect', () => void opening.then(({ context }) => context[Symbol.asyncDispose]()));
process.send((await opening).access);

async function open(wanted: string | undefined): Promise<{ readonly context: AsyncDisposable; readonly access: FarEndAccess }> {
  switch (wanted) {
    case 'exec':
      return cluster('exec', await KubernetesContext.open({ mounts: [] }));
    case 'dial-back': {
      const { image, transport } = await dialBackImage();
      return cluster('dial-back', await KubernetesContext.open(image, {}, undefined, transport));
    }
    case 'E2B': {
      const context = await E2bContext.open([]);
      return { context, access: { kind: 'E2B', ...context.simulator.credentials } };
    }
    default:
      throw new Error(`no such kind: ${wanted ?? ''}`);
  }
}

function cluster(
  of: Exclude<FarEndKind, 'E2B'>,
  context: KubernetesContext,
): { readonly context: AsyncDisposable; readonly access: FarEndAccess } {
  return { context, access: { kind: of, kubeconfig: context.pod.kubeconfig } };
}
