import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/app/configuration.ts';
import type { TemplateConfig } from '../../src/config/schema.ts';
import { planTemplateDelivery } from '../../src/app/checkpoints/template-delivery.ts';
import { getPlugin } from '../../src/app/sandboxes/providers.ts';
import type { Delivery } from '../../src/policy-distribution/delivery/delivery-ways.ts';

const { templates, delivery } = loadConfig({ environment: { HOME: '/' } });
const NOWHERE = { delivery };
const SOMEWHERE = { delivery: { ...delivery, url: 'http://10.0.0.5:7680' } };

function template(changes: Partial<TemplateConfig>): TemplateConfig {
  const local = templates['local'];
  if (!local) throw new Error('the defaults have a template "local"');
  return { ...local, ...changes };
}

function deliveryOf(changes: Partial<TemplateConfig>, config: typeof NOWHERE): Delivery {
  const settings = template(changes);
  return planTemplateDelivery('local', settings, getPlugin(settings), config);
}

function onPods(changes: object): object {
  return { ...Object(template({})['kubernetes']), ...changes };
}

const NODE_CACHE = { namespace: 'muster-node-cache', claim: 'muster-node-cache' };

describe('how a template’s checkpoints are delivered', () => {
  it.each<[string, Partial<TemplateConfig>]>([
    ['auto, anywhere', {}],
    ['upload, anywhere', { provider: 'kubernetes', delivery: 'upload' }],
    ['a pull at E2B', { provider: 'e2b', delivery: 'pull' }],
    ['a pull by pods that may connect to Muster', { provider: 'kubernetes', delivery: 'pull', kubernetes: onPods({ network: 'origin' }) }],
    ['caches of nodes', { provider: 'kubernetes', delivery: 'node-cache', kubernetes: onPods({ nodeCache: NODE_CACHE }) }],
  ])('is %s', (_, changes) => {
    expect(deliveryOf(changes, SOMEWHERE)).toBe(changes.delivery ?? 'auto');
  });

  it.each<[string, Partial<TemplateConfig>, typeof NOWHERE, string]>([
    ['a pull on this machine', { delivery: 'pull' }, SOMEWHERE, 'set it to auto'],
    ['a pull from nowhere', { provider: 'e2b', delivery: 'pull' }, NOWHERE, 'set delivery.url'],
    ['a pull by pods without a network', { provider: 'kubernetes', delivery: 'pull' }, SOMEWHERE, 'origin-policy.yaml'],
    ['a pull beside a runner of one’s own', { provider: 'e2b', delivery: 'pull', command: ['runner'] }, SOMEWHERE, 'set it to upload'],
    ['caches at E2B', { provider: 'e2b', delivery: 'node-cache' }, SOMEWHERE, 'set it to pull'],
    ['caches that are nowhere', { provider: 'kubernetes', delivery: 'node-cache' }, SOMEWHERE, 'set kubernetes.nodeCache'],
  ])('is refused with the remedy: %s', (_, changes, config, remedy) => {
    expect(() => deliveryOf(changes, config)).toThrow(remedy);
    expect(() => deliveryOf(changes, config)).toThrow(/templates\.local\.delivery is/);
  });
});
