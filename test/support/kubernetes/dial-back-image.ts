import { dirname, join, relative } from 'node:path';
import type { DialBackSettings } from '../../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';
import { RUNNER_INSIDE } from '../../../src/adapters/sandbox/local/template/python-template.ts';
import { runnerImage } from './runner-image.ts';
import type { SimulatedImage } from './simulated-node.ts';

/** Where things are in an image that has nothing below the checkout's own path, nor where scenarios look. */
const ELSEWHERE = { runner: '/opt/muster/runner', environment: '/opt/muster/environment' };

/** An image with the dialler, and how its pods reach a Muster of this machine. */
export interface DialBackImage {
  readonly image: SimulatedImage;
  readonly transport: DialBackSettings;
  readonly python: string;
}

/** All as on this machine. */
export async function dialBackImage(): Promise<DialBackImage> {
  const { image, python } = await runnerImage();
  return { image, python, transport: transportOf(python, RUNNER_INSIDE) };
}

/** The same for tests that look at what is visible inside: the checkout may lie anywhere, in /tmp for example. @param runner where it is inside. */
export async function outOfTheWay(runner = ELSEWHERE.runner): Promise<DialBackImage> {
  const { image, python: here } = await runnerImage();
  const environment = dirname(dirname(here));
  const moved = new Map([
    [RUNNER_INSIDE, runner],
    [environment, ELSEWHERE.environment],
  ]);
  const mounts = image.mounts.map(({ source, target }) => ({ source, target: moved.get(target) ?? target }));
  // A virtual environment knows where its interpreter is from, and not where it is itself.
  const python = join(ELSEWHERE.environment, relative(environment, here));
  return { image: { mounts }, python, transport: transportOf(python, runner) };
}

function transportOf(python: string, runner: string): DialBackSettings {
  const place = { host: '127.0.0.1', port: 0, advertise: 'ws://127.0.0.1:0', plaintext: 'refused' } as const;
  return { kind: 'dial-back', provider: 'kubernetes', ...place, python, dialler: `${runner}/dialler.py` };
}
