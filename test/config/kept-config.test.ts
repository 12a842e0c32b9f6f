import { expect, it } from 'vitest';
import { redactConfig } from '../../src/config/kept-config.ts';
import { loadConfig } from '../../src/app/configuration.ts';

it('the stored configuration has the names of environment variables but not their values, and no URL of a store', () => {
  const environment = {
    HOME: '/home/someone',
    MUSTER_TEMPLATES__LOCAL__ENVIRONMENT__API_KEY: 'hush',
    MUSTER_SERVER__WEBHOOK_SECRET: 'hush-hush-hush-hush-hush-hush',
    MUSTER_STORE__URL: 'postgresql://muster:hush@db/muster',
    MUSTER_ARENA__LIVE: 'redis://muster:hush@live',
  };
  const config = loadConfig({ processors: 8, environment });
  const kept = redactConfig(config);
  expect(kept.templates['local']?.environment).toEqual({ API_KEY: '(not kept)' });
  expect(JSON.stringify(kept)).not.toContain('hush');
  expect(config.store.url).toBe('postgresql://muster:hush@db/muster');
  expect(kept).toEqual({
    ...config,
    store: { url: '(not kept)' },
    arena: { ...config.arena, live: '(not kept)' },
    server: { ...config.server, webhookSecret: '(not kept)' },
    templates: { local: { ...config.templates['local'], environment: { API_KEY: '(not kept)' } } },
  });
});
