import type { Config } from '../../config/config.ts';
import type { TemplateConfig } from '../../config/schema.ts';
import { InputError } from '../../kernel/errors.ts';
import type { Delivery } from '../../policy-distribution/delivery/delivery-ways.ts';

/**
 * How the checkpoints of a template's sandboxes are delivered. Part of the composition root.
 *
 * @throws InputError `template.delivery` when it asks for what its provider or the configuration does not have.
 */
export function templateDelivery(name: string, settings: TemplateConfig, { delivery: { url } }: Pick<Config, 'delivery'>): Delivery {
  const { delivery, provider, command } = settings;
  if (delivery === 'auto' || delivery === 'upload') return delivery;
  const refused = (problem: string, remedy: string): InputError =>
    new InputError('template.delivery', `templates.${name}.delivery is ${delivery}, but ${problem}; ${remedy}`);
  if (provider === 'bubblewrap' || provider === 'gvisor')
    throw refused('sandboxes of this machine share one copy of what is here, and fetch nothing', 'set it to auto');
  if (url === 'none')
    throw refused('delivery.url is none, so there is nowhere to fetch from', 'set delivery.url to how sandboxes reach this Muster');
  if (command !== undefined)
    throw refused('what fetches comes with the Python runner, and the template has a command of its own', 'set it to upload');
  if (delivery === 'node-cache') assertNodeCache(settings, refused);
  else if (provider === 'kubernetes' && settings.kubernetes.network === 'none')
    throw refused(
      'kubernetes.network is none, so pods reach nothing',
      'set kubernetes.network to origin, and apply deploy/kubernetes/origin-policy.yaml',
    );
  return delivery;
}

function assertNodeCache({ provider, kubernetes }: TemplateConfig, refused: (problem: string, remedy: string) => InputError): void {
  if (provider !== 'kubernetes') throw refused('only nodes of a cluster have a cache', 'set it to pull');
  if (kubernetes.nodeCache === undefined)
    throw refused(
      'kubernetes.nodeCache does not say where the caches are',
      'apply deploy/kubernetes/node-cache, and set kubernetes.nodeCache',
    );
}
