import { RUNNER_INSIDE } from '../../src/adapters/sandbox/local/template/python-template.ts';
import { MACHINE } from './e2b/e2b-context.ts';
import { E2bSimulator } from './e2b/simulator.ts';
import { outOfTheWay } from './kubernetes/dial-back-image.ts';
import { KubernetesContext } from './kubernetes/kubernetes-context.ts';

/** Where a Muster makes its workspaces and grading sandboxes. */
export interface WorkspacePlace extends AsyncDisposable {
  /** Settings of the template `local`. */
  readonly template: object;
  /** Variables that Muster needs. */
  readonly environment?: Readonly<Record<string, string>>;
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

/** At a simulated E2B, whose sandboxes have to be gone in the end. It takes root. */
export async function openE2b(): Promise<WorkspacePlace> {
  const { image, python } = await outOfTheWay(RUNNER_INSIDE);
  const simulator = await E2bSimulator.open({ baked: image.mounts });
  const { apiKey, apiUrl, sandboxUrl } = simulator.credentials;
  const visible = [...MACHINE.visible, ...image.mounts.map(({ target }) => target)];
  return {
    template: { provider: 'e2b', e2b: { python, visible } },
    // Over plain HTTP/1.1 each program's output takes a connection of its own.
    environment: { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl, E2B_ENVD_RPC_CONNECTIONS: '100' },
    [Symbol.asyncDispose]: async () => {
      const left = simulator.account.tenants.map(({ id }) => id);
      await simulator[Symbol.asyncDispose]();
      if (left.length > 0) throw new Error(`sandboxes are left: ${left.join(', ')}`);
    },
  };
}
