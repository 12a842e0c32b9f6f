import type { SandboxProvider } from '../../../pool/ports/sandbox.ts';
import { type LocalOptions, LocalProvider } from '../local/local-provider.ts';
import { BubblewrapRuntime, type BubblewrapSettings } from './bubblewrap-runtime.ts';

export type BubblewrapOptions = LocalOptions & BubblewrapSettings;

/**
 * Creates the provider of local sandboxes: each is one program under bubblewrap, with its process tree in a control group where there are any. It is
 * forked from a zygote if its template has one, and otherwise started by a bubblewrap of its own.
 */
export function createBubblewrapProvider(options: BubblewrapOptions): SandboxProvider {
  return new LocalProvider(new BubblewrapRuntime(options), options);
}
