import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createBubblewrapProvider } from '../adapters/sandbox/bubblewrap/bubblewrap-provider.ts';
import { createGvisorProvider } from '../adapters/sandbox/gvisor/gvisor-provider.ts';
import { e2bTemplate } from '../adapters/sandbox/e2b/e2b-template.ts';
import { podTemplate } from '../adapters/sandbox/kubernetes/pods/kubernetes-template.ts';
import { pythonTemplate } from '../adapters/sandbox/local/template/python-template.ts';
import type { TemplateConfig } from '../config/schema.ts';
import type { Clock } from '../kernel/clock.ts';
import type { OwnerId } from '../kernel/ids.ts';
import type { PodPlace } from '../pool/ports/pod-template.ts';
import type { PoolConfig } from '../pool/planning/pool-config.ts';
import type { SandboxProvider } from '../pool/ports/sandbox.ts';
import type { SandboxTemplate } from '../pool/ports/template.ts';

/** All providers of sandboxes. Part of the composition root. */

export const PROJECT_DIRECTORY = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

export interface ProviderGround {
  readonly stateDir: string;
  readonly owner: OwnerId;
  readonly clock: Clock;
  /** Names of all templates that are configured. */
  readonly templates: readonly string[];
  /** As configured, by name. */
  readonly settings: (template: string) => TemplateConfig;
  /** Hosts that sandboxes elsewhere fetch checkpoints from; none: they do not. */
  readonly origins: readonly string[];
  /** Told what goes wrong without anything failing for it. */
  readonly log: (message: string) => void;
}

/** What a provider's service allows. */
export type Allowance = Pick<PoolConfig, 'max' | 'creationsPerSecond' | 'restSeconds'>;

/** How a provider comes to be, and what it makes of a template as configured. */
interface ProviderKind {
  open(ground: ProviderGround): Promise<SandboxProvider>;
  template(name: string, settings: TemplateConfig, projectDirectory: string, signal: AbortSignal): Promise<SandboxTemplate>;
  /** What the provider's service allows at most. Left out where only the pool's own settings count. */
  allowance?(settings: TemplateConfig): Allowance;
}

/** The clients of services are brought in when one is needed: they would cost every command half a second and more. */
export const PROVIDERS: Readonly<Record<TemplateConfig['provider'], ProviderKind>> = {
  bubblewrap: { open: async (ground) => createBubblewrapProvider(ground), template: pythonTemplate },
  gvisor: { open: async (ground) => createGvisorProvider(ground), template: pythonTemplate },
  e2b: {
    open: async ({ owner, clock, origins, log }) => {
      const { createE2bProvider } = await import('../adapters/sandbox/e2b/e2b-provider.ts');
      return createE2bProvider({
        owner,
        clock,
        account: { apiKey: process.env['E2B_API_KEY'] ?? '' },
        projectDirectory: PROJECT_DIRECTORY,
        origins,
        log,
      });
    },
    template: async (name, settings) => e2bTemplate(name, settings, settings.e2b),
    allowance: ({ e2b }) => ({
      max: e2b.maxSandboxes,
      creationsPerSecond: e2b.creationsPerSecond,
      restSeconds: e2b.pauseSeconds === 'never' ? undefined : e2b.pauseSeconds,
    }),
  },
  kubernetes: {
    open: async (ground) => {
      const { createKubernetesProvider } = await import('../adapters/sandbox/kubernetes/kubernetes-provider.ts');
      return createKubernetesProvider({ ...ground, places: ground.templates.flatMap((name) => placesOf(ground.settings(name))) });
    },
    template: async (name, settings) => podTemplate(name, settings, settings.kubernetes),
  },
};

/** Where a template's pods are: nowhere without an image, which it is told of when it is used. */
function placesOf({ provider, kubernetes }: TemplateConfig): readonly PodPlace[] {
  return provider === 'kubernetes' && kubernetes.image !== undefined ? [kubernetes] : [];
}
