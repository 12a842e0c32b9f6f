import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createCloudBuildWorkspace } from '../../src/adapters/sandbox/cloud-build/cloud-build-template.ts';
import { createDockerProvider } from '../../src/adapters/sandbox/docker/docker-provider.ts';
import { createDockerWorkspace } from '../../src/adapters/sandbox/docker/docker-workspace.ts';
import { createE2bWorkspace } from '../../src/adapters/sandbox/e2b/e2b-template.ts';
import { createWorkspaceForPods, type PodSettings } from '../../src/adapters/sandbox/kubernetes/pods/kubernetes-template.ts';
import { RUNNER_INSIDE } from '../../src/adapters/sandbox/local/template/python-template.ts';
import { createWorkspaceTemplate } from '../../src/adapters/sandbox/local/template/workspace-template.ts';
import type { Command, CommandResult } from '../../src/agents/workspace/command.ts';
import { WorkspaceSession } from '../../src/agents/workspace/workspace-session.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { parseOwnerId, parseSandboxId } from '../../src/kernel/ids.ts';
import type { TemplateContext, WorkspaceSettings } from '../../src/pool/ports/provider-plugin.ts';
import type { Sandbox, SandboxProvider } from '../../src/pool/ports/sandbox.ts';
import type { Mount, SandboxLimits, SandboxTemplate } from '../../src/pool/ports/template.ts';
import { BubblewrapContext } from './bubblewrap-context.ts';
import { CloudBuildContext } from './cloud-build/cloud-build-context.ts';
import { DockerDaemon } from './docker/docker-daemon.ts';
import { E2bContext, MACHINE } from './e2b/e2b-context.ts';
import { RealDaemons } from './e2b/real-daemons.ts';
import { GvisorContext } from './gvisor-context.ts';
import { KubernetesContext } from './kubernetes/kubernetes-context.ts';
import { outOfTheWay } from './kubernetes/dial-back-image.ts';
import { runnerImage } from './kubernetes/runner-image.ts';

const PROJECT = path.join(import.meta.dirname, '../..');
export const LIMITS: SandboxLimits = { memoryBytes: 512 * 2 ** 20, processes: 64, cpus: 2, diskBytes: 64 * 2 ** 20, lifetimeSeconds: 300 };
export const ENVIRONMENT = { PATH: '/usr/bin:/bin', HOME: '/tmp', LANG: 'C.UTF-8' };

export interface WorkspaceOptions {
  readonly root?: string;
  readonly writable?: readonly string[];
  readonly limits?: Partial<SandboxLimits>;
  readonly start?: 'forked' | 'plain';
  readonly mounts?: readonly Mount[];
}

/** Where workspaces are made. */
interface Site extends AsyncDisposable {
  readonly provider: SandboxProvider;
  readonly hiddenPaths: readonly string[];
  template(settings: WorkspaceSettings, context: TemplateContext): Promise<SandboxTemplate>;
}

/** Workspaces, each in a real sandbox; gone, and looked for, with the fixture. */
export class WorkspaceFixture implements AsyncDisposable {
  readonly #site: Site;
  #made = 0;

  private constructor(site: Site) {
    this.#site = site;
  }

  static async open(provider: keyof typeof SITES = 'bubblewrap'): Promise<WorkspaceFixture> {
    return new WorkspaceFixture(await SITES[provider]());
  }

  /** Places of this machine that no workspace may name. */
  get hiddenPaths(): readonly string[] {
    return this.#site.hiddenPaths;
  }

  async workspace({ root, writable = ['/app'], limits = {}, start = 'forked', mounts = [] }: WorkspaceOptions = {}): Promise<{
    sandbox: Sandbox;
    session: WorkspaceSession;
  }> {
    const settings = { root, writable, limits: { ...LIMITS, ...limits }, demands: [], mounts, start };
    const signal = AbortSignal.timeout(60_000);
    const template = await this.#site.template(settings, { projectDirectory: PROJECT, signal });
    const sandbox = await this.#site.provider.create({ id: parseSandboxId(`w${(this.#made += 1)}`), template }, signal);
    return { sandbox, session: await WorkspaceSession.open(sandbox, systemClock, signal) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#site.provider[Symbol.asyncDispose]();
    await this.#site[Symbol.asyncDispose]();
  }
}

const SITES = {
  bubblewrap: async (): Promise<Site> => {
    const context = await BubblewrapContext.open([]);
    return {
      provider: context.provider(),
      hiddenPaths: context.hiddenPaths.slice(0, 3),
      template: (settings, about) => createWorkspaceTemplate('workspace', settings, about),
      [Symbol.asyncDispose]: () => context[Symbol.asyncDispose](),
    };
  },
  gvisor: async (): Promise<Site> => {
    const context = await GvisorContext.open([]);
    return {
      provider: context.provider(),
      hiddenPaths: context.hiddenPaths.slice(0, 3),
      template: (settings, about) => createWorkspaceTemplate('workspace', settings, about),
      [Symbol.asyncDispose]: () => context[Symbol.asyncDispose](),
    };
  },
  docker: async (): Promise<Site> => {
    const daemon = await DockerDaemon.start();
    const stateDir = await mkdtemp(path.join(tmpdir(), 'muster-test-'));
    const own = { socket: daemon.socket, pull: 'never', python: 'python3' } as const;
    return {
      provider: createDockerProvider({ stateDir, owner: parseOwnerId('workspaces'), clock: systemClock, sockets: [daemon.socket] }),
      hiddenPaths: [stateDir, daemon.directory],
      template: (settings, about) => createDockerWorkspace('workspace', settings, own, about),
      [Symbol.asyncDispose]: async () => {
        await daemon[Symbol.asyncDispose]();
        await rm(stateDir, { recursive: true });
      },
    };
  },
  kubernetes: async (): Promise<Site> => {
    const { image, python } = await outOfTheWay(RUNNER_INSIDE);
    const context = await KubernetesContext.open(image);
    const own: PodSettings = {
      ...context.pod,
      python,
      transport: 'exec',
      dialBack: { host: '', port: 0, plaintext: 'refused', dialler: '' },
    };
    return {
      provider: context.provider(),
      hiddenPaths: [context.stateDir],
      template: (settings) => createWorkspaceForPods('workspace', settings, own),
      [Symbol.asyncDispose]: () => context[Symbol.asyncDispose](),
    };
  },
  'cloud-build': async (): Promise<Site> => {
    const context = await CloudBuildContext.open(await outOfTheWay(RUNNER_INSIDE));
    return {
      provider: context.provider(),
      hiddenPaths: [],
      template: async (settings) => createCloudBuildWorkspace('workspace', settings, context.settings),
      [Symbol.asyncDispose]: () => context[Symbol.asyncDispose](),
    };
  },
  e2b: openE2b,
};

/** With E2B's own daemon, the files of this machine are the template's. */
async function openE2b(): Promise<Site> {
  const envd = process.env['MUSTER_CLUSTER_ENVD'];
  const { image, python } = envd === undefined ? await outOfTheWay(RUNNER_INSIDE) : await runnerImage();
  const context = await E2bContext.open(image.mounts, envd === undefined ? {} : { daemons: new RealDaemons(envd) });
  const visible = [...MACHINE.visible, ...image.mounts.map(({ target }) => target)];
  const own = { ...MACHINE, python, visible, runner: envd === undefined ? 'baked' : 'uploaded' } as const;
  return {
    provider: context.provider(),
    hiddenPaths: envd === undefined ? context.hiddenPaths : [],
    template: async (settings) => createE2bWorkspace('workspace', settings, own),
    [Symbol.asyncDispose]: () => context[Symbol.asyncDispose](),
  };
}

/** Runs a command of /bin/sh. */
export function shell(session: WorkspaceSession, script: string, changes: Partial<Command> = {}): Promise<CommandResult> {
  return session.run({ ...commandOf(['/bin/sh', '-c', script]), ...changes }, AbortSignal.timeout(120_000));
}

export function commandOf(argv: readonly string[]): Command {
  return { argv, directory: '/app', environment: ENVIRONMENT, seconds: 20, output: { head: 65_536, tail: 65_536, most: 2 ** 24 } };
}
