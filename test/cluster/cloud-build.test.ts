import { readFileSync } from 'node:fs';
import nock from 'nock';
import { describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { createCloudBuildProvider } from '../../src/adapters/sandbox/cloud-build/cloud-build-provider.ts';
import { createCloudBuildTemplate, createCloudBuildWorkspace } from '../../src/adapters/sandbox/cloud-build/cloud-build-template.ts';
import { BuildService } from '../../src/adapters/sandbox/cloud-build/build-service.ts';
import { TAG } from '../../src/adapters/sandbox/cloud-build/owned-builds.ts';
import { type CloudBuildSettings, cloudBuildSchema } from '../../src/adapters/sandbox/cloud-build/settings.ts';
import { WorkspaceSession } from '../../src/agents/workspace/workspace-session.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { parseOwnerId, parseSandboxId } from '../../src/kernel/ids.ts';
import { limitFailures, MEMORY_BOMB, PROCESSOR_TIME, TREE_MEMORY, USAGE } from '../contract/limit-failures.ts';
import { shellCommands } from '../contract/sandbox-commands.ts';
import { NEVER } from '../contract/sandbox-fixture.ts';
import { sandboxProviderContract, type SandboxContext } from '../contract/sandbox-provider.ts';
import { completeSettings, crashOwner, TEMPLATE } from '../support/cloud-build/cloud-build-context.ts';
import { SkippableClock } from '../support/skippable-clock.ts';
import { LIMITS, shell } from '../support/workspace-fixture.ts';

nock.restore();
vi.setConfig({ testTimeout: 1_800_000, hookTimeout: 1_800_000 });

/** File of YAML: what stands under `cloud-build` in a template (docs/cloud-build.md). */
const file = process.env['MUSTER_CLOUD_BUILD'];
const unavailable =
  process.env['MUSTER_TEST_CLUSTER'] !== '1'
    ? 'npm run test:cluster speaks to Google'
    : file === undefined
      ? 'MUSTER_CLOUD_BUILD names no file with settings'
      : undefined;
let contexts = 0;

function readSettings(): CloudBuildSettings {
  return cloudBuildSchema.parse(completeSettings(parse(readFileSync(file ?? '', 'utf8'))));
}

function open(settings: CloudBuildSettings): SandboxContext {
  const { project, region, endpoint } = settings;
  if (project === undefined) throw new Error(`${file ?? ''} names no project`);
  const place = { project, region, endpoint };
  const service = new BuildService(place);
  const clock = new SkippableClock();
  const prefix = `real-${process.pid}-${(contexts += 1)}`;
  const owners: string[] = [];
  const newOwner = (): ReturnType<typeof parseOwnerId> => {
    owners.push(`${prefix}-${owners.length}`);
    return parseOwnerId(owners.at(-1) ?? '');
  };
  const listBuilds = async (owner: string) => service.listRunning(`${TAG}-${owner}`, NEVER);
  const { providerPart } = createCloudBuildTemplate('contract', { ...TEMPLATE, command: ['true'] }, settings);
  return {
    clock,
    additions: { ...(providerPart && { providerPart }), mounts: [] },
    hiddenPaths: ['/var/run/docker.sock', '/builder', '/workspace', '/root'],
    provider: () => createCloudBuildProvider({ owner: newOwner(), clock, places: [place] }),
    traces: async () => (await Promise.all(owners.map(listBuilds))).flat().map(({ id }) => id),
    // The machine of a build is another one: what is left in it is gone with it.
    markedProcesses: async () => [],
    killFromOutside: async ({ owner }, id) => {
      for (const build of await listBuilds(owner))
        if (build.steps.some(({ env }) => env.some((each) => each.includes(`"id":"${parseSandboxId(id)}"`))))
          await service.cancel(build.id, NEVER);
    },
    crashedOwner: (commands) => crashOwner(newOwner(), settings, commands),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

sandboxProviderContract(
  'the Cloud Build provider, on Google’s service,',
  {
    commands: shellCommands('/usr/local/bin/python3'),
    mounts: [],
    open: async () => open(readSettings()),
    // What the process table of this machine shows decides the others.
    sample: ['streams', 'uploads'],
  },
  {
    ...limitFailures('a build’s machine has its memory and its processors to itself', MEMORY_BOMB, TREE_MEMORY, PROCESSOR_TIME),
    ...limitFailures('no call asks for it', USAGE),
  },
  unavailable,
);

describe.runIf(unavailable === undefined)('a workspace in a build of Google’s service', () => {
  it('has the files of its task and its mounts, no network and nothing of the build step, and leaves no build', async () => {
    const settings = readSettings();
    await using context = open(settings);
    const provider = context.provider();
    const mounts = [{ source: import.meta.dirname, target: '/data/in' }];
    const wanted = { root: undefined, writable: ['/app'], limits: LIMITS, demands: [], mounts, start: 'plain' } as const;
    try {
      const template = createCloudBuildWorkspace('workspace', wanted, settings);
      const sandbox = await provider.create({ id: parseSandboxId('w1'), template }, NEVER);
      const session = await WorkspaceSession.open(sandbox, systemClock, NEVER);
      await session.put([{ path: '/app/given', content: Buffer.from('given\n'), executable: false }], NEVER);
      const seen = await shell(session, 'cat given; ls /data/in; wc -l </proc/net/route');
      expect(seen.stdout.head.toString()).toMatch(/^given\n[^]*cloud-build\.test\.ts\n[^]*\n1\n$/);
      const hidden = await shell(session, 'ls -d /var/run/docker.sock /builder /workspace; echo x >/data/in/new');
      expect(hidden).toMatchObject({ end: { kind: 'exited', code: 2 }, stdout: { total: 0 } });
    } finally {
      await provider[Symbol.asyncDispose]();
    }
    expect(await context.traces()).toEqual([]);
  });
});
