import { E2bGround } from '../test/support/e2b/e2b-ground.ts';
import { dialBackImage } from '../test/support/kubernetes/dial-back-image.ts';
import { KubernetesGround } from '../test/support/kubernetes/kubernetes-ground.ts';
import type { FarEndAccess, FarEndKind } from './far-end.ts';

/** A simulated cluster, or E2B, in a process of its own, whose sandboxes are real local ones: `simulated-sandboxes.ts KIND`. */
const [kind] = process.argv.slice(2);
if (!process.send) throw new Error('started by far-end.ts only');
const opening = open(kind);
process.once('disconnect', () => void opening.then(({ ground }) => ground[Symbol.asyncDispose]()));
process.send((await opening).access);

async function open(wanted: string | undefined): Promise<{ readonly ground: AsyncDisposable; readonly access: FarEndAccess }> {
  switch (wanted) {
    case 'exec':
      return cluster('exec', await KubernetesGround.open({ mounts: [] }));
    case 'dial-back': {
      const { image, transport } = await dialBackImage();
      return cluster('dial-back', await KubernetesGround.open(image, {}, undefined, transport));
    }
    case 'E2B': {
      const ground = await E2bGround.open([]);
      return { ground, access: { kind: 'E2B', ...ground.simulator.credentials } };
    }
    default:
      throw new Error(`no such kind: ${wanted ?? ''}`);
  }
}

function cluster(
  of: Exclude<FarEndKind, 'E2B'>,
  ground: KubernetesGround,
): { readonly ground: AsyncDisposable; readonly access: FarEndAccess } {
  return { ground, access: { kind: of, kubeconfig: ground.pod.kubeconfig } };
}
