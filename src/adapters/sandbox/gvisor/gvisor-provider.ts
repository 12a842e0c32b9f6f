import type { SandboxProvider } from '../../../pool/ports/sandbox.ts';
import { type LocalOptions, LocalProvider } from '../local/local-provider.ts';
import { GvisorRuntime, type GvisorSettings } from './gvisor-runtime.ts';

export type GvisorOptions = LocalOptions & GvisorSettings;

/** Creates the provider of local sandboxes: each is one program on a gVisor kernel of its own, all of it in a control group where there are any. */
export function createGvisorProvider(options: GvisorOptions): SandboxProvider {
  return new LocalProvider(new GvisorRuntime(options), options);
}
