import type { Config } from '../../config/config.ts';
import type { TemplateConfig } from '../../config/schema.ts';
import { InputError } from '../../kernel/errors.ts';
import type { Delivery } from '../../policy-distribution/delivery/delivery-ways.ts';
import type { ProviderPlugin } from '../../pool/ports/provider-plugin.ts';

/**
 * Plans how the checkpoints of a template's sandboxes are delivered. Part of the composition root.
 *
 * @throws InputError `template.delivery` when it asks for what its provider or the configuration does not have.
 */
export function planTemplateDelivery(
  name: string,
  settings: TemplateConfig,
  plugin: ProviderPlugin,
  { delivery: { url } }: Pick<Config, 'delivery'>,
): Delivery {
  const { delivery, command } = settings;
  if (delivery === 'auto' || delivery === 'upload') return delivery;
  const createRefusal = (problem: string, remedy: string): InputError =>
    new InputError('template.delivery', `templates.${name}.delivery is ${delivery}, but ${problem}; ${remedy}`);
  if (!plugin.fetches) throw createRefusal('sandboxes of this machine share one copy of the files, and fetch nothing', 'set it to auto');
  if (url === 'none')
    throw createRefusal(
      'delivery.url is not set, so sandboxes have no address to fetch from',
      'set delivery.url to how sandboxes reach this Muster',
    );
  if (command !== undefined)
    throw createRefusal('only the Python runner fetches files, and the template has its own command', 'set it to upload');
  const refusal = plugin.refusesFetching(delivery === 'node-cache' ? 'shared-cache' : delivery, settings);
  if (refusal) throw createRefusal(refusal.problem, refusal.remedy);
  return delivery;
}
