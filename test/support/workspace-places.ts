import { RUNNER_INSIDE } from '../../src/adapters/sandbox/local/template/python-template.ts';
import { outOfTheWay } from './kubernetes/dial-back-image.ts';
import { KubernetesContext } from './kubernetes/kubernetes-context.ts';

/** Where a Muster makes its workspaces and grading sandboxes. */
export interface WorkspacePlace extends AsyncDisposable {
  /** Settings of the template `local`. */
  readonly template: object;
}

/** On this machine. */
export async function openHere(template: object): Promise<WorkspacePlace> {
  return { template, [Symbol.asyncDispose]: async () => {} };
}

/** In a simulated cluster, whose pods have to be gone in the end. */
export async function openCluster(): Promise<WorkspacePlace> {
  const { image, python } = await outOfTheWay(RUNNER_INSIDE);
  const context = await KubernetesContext.open(image);
  const { kubeconfig, namespace, image: name } = context.pod;
  return {
    template: { provider: 'kubernetes', kubernetes: { kubeconfig, namespace, image: name, python } },
    [Symbol.asyncDispose]: async () => {
      const left = context.simulator.podNames();
      await context[Symbol.asyncDispose]();
      if (left.length > 0) throw new Error(`pods are left: ${left.join(', ')}`);
    },
  };
}
