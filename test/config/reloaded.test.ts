import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/app/configuration.ts';
import { applyReload } from '../../src/config/reloaded.ts';
import type { Flag } from '../../src/kernel/documents/layer.ts';
import type { Config } from '../../src/config/config.ts';

function config(settings: Readonly<Record<string, unknown>> = {}): Config {
  const flags = Object.entries(settings).map(([name, value]): Flag => ({ name, path: name.split('.'), value }));
  return loadConfig({ environment: { HOME: '/home/muster' }, flags, processors: 2 });
}

describe('a configuration that is read again', () => {
  it('changes the settings that can be reloaded, and leaves the rest for a restart', () => {
    const wanted = config({
      'log.level': 'info',
      'pool.max': 7,
      'pool.readySeconds': 99,
      'quotas.default.waitingEvaluations': 3,
      'server.port': 1234,
      'server.retentionDays': 5,
      'templates.local.network': 'host',
      'sources.roots': ['/runs'],
    });
    const { config: inForce, changed, pending } = applyReload(config(), wanted);
    expect(changed).toEqual([
      'log.level',
      'pool.max',
      'quotas.default.waitingEvaluations',
      'sources.roots',
      'server.concurrentEvaluations',
      'server.retentionDays',
    ]);
    expect(pending).toEqual(['pool.readySeconds', 'templates.local.network', 'server.port']);
    expect(inForce).toMatchObject({ pool: { max: 7, readySeconds: config().pool.readySeconds }, server: { port: config().server.port } });
    // Read again, it says the same of what waits, and nothing more changes.
    expect(applyReload(inForce, wanted)).toMatchObject({ changed: [], pending });
  });

  it('with the same settings changes nothing', () => {
    expect(applyReload(config(), config())).toEqual({ config: config(), changed: [], pending: [] });
  });

  it('names changed settings, and never their values', () => {
    const { changed, pending } = applyReload(
      config(),
      config({ 'server.webhookSecret': 'a secret of many letters', 'store.url': 'postgresql://u:secret@h/d' }),
    );
    expect([changed, pending]).toEqual([['server.webhookSecret'], ['store.url']]);
  });
});
