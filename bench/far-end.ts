import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { z } from 'zod';
import { createE2bProvider } from '../src/adapters/sandbox/e2b/e2b-provider.ts';
import { createKubernetesProvider } from '../src/adapters/sandbox/kubernetes/kubernetes-provider.ts';
import { systemClock } from '../src/kernel/clock.ts';
import { parseOwnerId } from '../src/kernel/ids.ts';
import type { SandboxProvider } from '../src/pool/ports/sandbox.ts';
import type { SandboxTemplate } from '../src/pool/ports/template.ts';
import { MACHINE } from '../test/support/e2b/e2b-context.ts';
import { dialBackImage } from '../test/support/kubernetes/dial-back-image.ts';
import { podTemplate } from '../test/support/kubernetes/kubernetes-context.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import { PodPart } from '../src/adapters/sandbox/kubernetes/settings/pod-template.ts';
import { E2bPart } from '../src/adapters/sandbox/e2b/e2b-machine.ts';

/** How its owner reaches a simulated service. */
const accessSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('exec'), kubeconfig: z.string() }),
  z.object({ kind: z.literal('dial-back'), kubeconfig: z.string() }),
  z.object({ kind: z.literal('E2B'), apiKey: z.string(), apiUrl: z.url(), sandboxUrl: z.url() }),
]);
export type FarEndAccess = z.infer<typeof accessSchema>;
export type FarEndKind = FarEndAccess['kind'];
export const KINDS = ['exec', 'dial-back', 'E2B'] as const satisfies readonly FarEndKind[];

/** What Muster has sandboxes from, simulated in a process of its own, so that this process holds Muster's memory only. */
export class FarEnd implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #access: FarEndAccess;

  private constructor(child: ChildProcess, access: FarEndAccess) {
    this.#process = child;
    this.#access = access;
  }

  /** It ends with this process, however that ends. */
  static async open(kind: FarEndKind): Promise<FarEnd> {
    const child = fork(path.join(import.meta.dirname, 'simulated-sandboxes.ts'), [kind]);
    const ended = once(child, 'exit').then(() => {
      throw new Error(`simulated-sandboxes.ts ${kind} ended before it could be reached`);
    });
    const [access] = await Promise.race([once(child, 'message'), ended]);
    return new FarEnd(child, accessSchema.parse(access));
  }

  /** Muster's side of it, and what a template needs to have besides. */
  async muster(): Promise<{ readonly provider: SandboxProvider; readonly additions: Partial<SandboxTemplate> }> {
    const access = this.#access;
    const common = {
      owner: parseOwnerId(`bench-${process.pid}`),
      clock: systemClock,
      log: (message: string): void => void process.stderr.write(`${message}\n`),
    };
    switch (access.kind) {
      case 'exec':
        return { provider: createKubernetesProvider(common), additions: { providerPart: new PodPart(podTemplate(access.kubeconfig)) } };
      case 'dial-back': {
        const { transport } = await dialBackImage();
        return {
          provider: createKubernetesProvider(common),
          additions: { providerPart: new PodPart(podTemplate(access.kubeconfig, { transport })) },
        };
      }
      case 'E2B': {
        const { kind: _, ...account } = access;
        return {
          provider: createE2bProvider({ ...common, account, projectDirectory: PACKAGE_ROOT }),
          additions: { providerPart: new E2bPart(MACHINE) },
        };
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exit = once(this.#process, 'exit');
    this.#process.disconnect();
    await exit;
  }
}
