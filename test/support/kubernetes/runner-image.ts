import { createPythonTemplate } from '../../../src/adapters/sandbox/local/template/python-template.ts';
import { PACKAGE_ROOT } from '../../../src/kernel/package-root.ts';
import type { SimulatedImage } from './simulated-node.ts';

/** What deploy/docker/runner.Dockerfile makes, of this machine's own files: the runner, Python, and what the examples import. */
export async function runnerImage(): Promise<{ readonly image: SimulatedImage; readonly python: string }> {
  const limits = { memoryBytes: 2 ** 30, processes: 32, cpus: 1, diskBytes: 2 ** 20, lifetimeSeconds: 1 };
  const settings = {
    python: 'auto',
    imports: [],
    environment: {},
    mounts: [],
    network: 'none',
    limits,
    demands: [],
    start: 'plain',
  } as const;
  const { command, mounts } = await createPythonTemplate('image', settings, PACKAGE_ROOT, new AbortController().signal);
  return { image: { mounts }, python: command[0] ?? '' };
}
