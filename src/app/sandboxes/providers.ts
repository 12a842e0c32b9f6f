import { bubblewrap } from '../../adapters/sandbox/bubblewrap/plugin.ts';
import { cloudBuild } from '../../adapters/sandbox/cloud-build/plugin.ts';
import { docker } from '../../adapters/sandbox/docker/plugin.ts';
import { e2b } from '../../adapters/sandbox/e2b/plugin.ts';
import { gvisor } from '../../adapters/sandbox/gvisor/plugin.ts';
import { kubernetes } from '../../adapters/sandbox/kubernetes/plugin.ts';
import type { ProviderPlugin } from '../../pool/ports/provider-plugin.ts';

/** All providers of sandboxes, in the documented order. Part of the composition root. */
export const PROVIDERS: readonly ProviderPlugin[] = [bubblewrap, gvisor, docker, e2b, kubernetes, cloudBuild];

/** Returns the plug-in of a template's provider, whose name the configuration's schema has checked. */
export function getPlugin({ provider }: { readonly provider: string }): ProviderPlugin {
  const plugin = PROVIDERS.find(({ name }) => name === provider);
  if (plugin === undefined) throw new RangeError(`there is no provider "${provider}"`);
  return plugin;
}
