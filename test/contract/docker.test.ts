import nock from 'nock';
import { afterAll, beforeAll, vi } from 'vitest';
import { DockerDaemon, daemonUnavailable } from '../support/docker/docker-daemon.ts';
import { DockerContext } from '../support/docker/docker-context.ts';
import { pythonInterpreter } from '../support/python-interpreter.ts';
import { limitFailures, USAGE } from './limit-failures.ts';
import { shellCommands } from './sandbox-commands.ts';
import { ALL_GROUPS, sandboxProviderContract } from './sandbox-provider.ts';

nock.restore();
// A container takes half a second to come and to go, and several of them on a busy machine much longer.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const unavailable = await daemonUnavailable();
const { executable, mounts } = pythonInterpreter();
let daemon: DockerDaemon | undefined;

beforeAll(async () => {
  if (unavailable === undefined) daemon = await DockerDaemon.start();
});
afterAll(() => daemon?.[Symbol.asyncDispose]());

async function open(): Promise<DockerContext> {
  if (!daemon) throw new Error('the daemon was not started');
  return DockerContext.open(daemon, mounts);
}

sandboxProviderContract(
  'the Docker provider',
  { commands: shellCommands(executable), mounts: [{ source: '/usr', target: '/usr' }, ...mounts], open, sample: ALL_GROUPS },
  limitFailures('the daemon forgets what a container has used when it ends', USAGE),
  unavailable,
);
