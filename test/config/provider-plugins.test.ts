import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { PROVIDERS } from '../../src/app/sandboxes/providers.ts';
import { createConfigSchema } from '../../src/config/schema.ts';
import { InfrastructureError } from '../../src/kernel/errors.ts';
import { createProviderPlugin } from '../../src/pool/ports/provider-plugin.ts';

const bench = createProviderPlugin({
  name: 'bench',
  summary: 'a rack of boards',
  settings: z.strictObject({ boards: z.int().min(1) }),
  isOwnMachine: true,
  playsApart: false,
  open: () => Promise.reject(new InfrastructureError('bench.none', 'no rack is here')),
  template: async (name, { environment, mounts, network, limits, demands }, { boards }) => ({
    name,
    environment,
    mounts,
    network,
    limits,
    demands,
    command: ['run', `${boards}`],
  }),
  getAllowance: ({ boards }) => ({ max: boards }),
});
const schema = createConfigSchema([...PROVIDERS, bench]);

function configured(own: unknown): object {
  const defaults = Object(parse(readFileSync(join(import.meta.dirname, '../../config/default.yaml'), 'utf8')));
  return { ...defaults, templates: { local: { ...defaults.templates.local, provider: 'bench', bench: own } } };
}

it('a provider’s settings are checked by its plug-in, and only the list of plug-ins refers to it', async () => {
  const template = schema.parse(configured({ boards: 3 })).templates['local'];
  if (!template) throw new Error('the configuration has a template "local"');
  expect(template).toMatchObject({ provider: 'bench', bench: { boards: 3 } });
  expect(bench.allowance(template)).toEqual({ max: 3 });
  const context = { projectDirectory: '/', signal: new AbortController().signal };
  expect(await bench.template('local', template, context)).toMatchObject({ name: 'local', command: ['run', '3'] });
  expect(bench.fetches).toBe(false);
});

it('an invalid setting of a provider is refused at its path', () => {
  expect(schema.safeParse(configured({ boards: 0 })).error?.issues.map(({ path }) => path)).toEqual([
    ['templates', 'local', 'bench', 'boards'],
  ]);
});
