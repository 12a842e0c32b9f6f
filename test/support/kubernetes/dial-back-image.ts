import type { DialBackSettings } from '../../../src/pool/pod-template.ts';
import { RUNNER_INSIDE } from '../../../src/adapters/sandbox/local/python-template.ts';
import { runnerImage } from './runner-image.ts';
import type { SimulatedImage } from './simulated-node.ts';

const ELSEWHERE = '/opt/muster/runner';

/** An image with the dialler, and how its pods reach a Muster of this machine. */
export interface DialBackImage {
  readonly image: SimulatedImage;
  readonly transport: DialBackSettings;
  readonly python: string;
}

/** @param runner where it has Muster's runner. */
export async function dialBackImage(runner = RUNNER_INSIDE): Promise<DialBackImage> {
  const { image, python } = await runnerImage();
  const mounts = image.mounts.map(({ source, target }) => ({ source, target: target === RUNNER_INSIDE ? runner : target }));
  const place = { host: '127.0.0.1', port: 0, advertise: 'ws://127.0.0.1:0', plaintext: 'refused' } as const;
  return { image: { mounts }, python, transport: { kind: 'dial-back', ...place, python, dialler: `${runner}/dialler.py` } };
}

/** The same for tests that look at what is to be seen inside. */
export function outOfTheWay(): Promise<DialBackImage> {
  return dialBackImage(ELSEWHERE);
}
