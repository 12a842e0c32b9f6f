import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { publishedSchemas } from '../../scripts/published-schemas.ts';
import { configSchema } from '../../src/app/configuration.ts';

const root = join(import.meta.dirname, '../..');

describe('the committed JSON Schemas', () => {
  it('are what the zod schemas say (otherwise: node scripts/generate-schemas.ts)', async () => {
    const generated = await publishedSchemas();
    const committed = generated.map(({ path }) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
    expect(committed).toEqual(generated);
  });

  it('accept a configuration file with only the changed settings', async () => {
    const schema = await configJsonSchema();
    expect(schema.safeParse({ pool: { max: 3 }, templates: { big: { limits: { memoryBytes: '8GiB' } } } }).success).toBe(true);
    expect(schema.safeParse({ pool: { maxx: 3 } }).success).toBe(false);
    expect(schema.safeParse({ templates: { big: { mounts: [{ source: '/data' }] } } }).success).toBe(false);
  });

  it.each(['config/schema', ...['suite', 'batch', 'agent', 'muster-task', 'task-case'].map((name) => `docs/schemas/${name}.schema`)])(
    'describe every setting: %s',
    (path) => {
      const schema: unknown = JSON.parse(readFileSync(join(root, `${path}.json`), 'utf8'));
      expect(listUndescribed(schema)).toEqual([]);
      expect(listUndescribed({ properties: { pool: { description: 'the pool', properties: { max: {} } } } })).toEqual(['pool.max']);
    },
  );

  it('accept the default configuration', async () => {
    const schema = await configJsonSchema();
    expect(schema.safeParse(parse(readFileSync(join(root, 'config/default.yaml'), 'utf8'))).success).toBe(true);
  });
});

describe('the default configuration', () => {
  it('states every setting that has a default', () => {
    const defaults: unknown = parse(readFileSync(join(root, 'config/default.yaml'), 'utf8'));
    expect(configSchema.safeParse(defaults).error).toBeUndefined();
  });
});

/** Paths of the settings in a JSON Schema that have no description. A constant describes itself. */
function listUndescribed(schema: unknown, path: readonly string[] = []): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (keyword !== 'properties') return listUndescribed(value, path);
    return Object.entries(z.record(z.string(), z.record(z.string(), z.unknown())).parse(value)).flatMap(([name, setting]) => {
      const here = [...path, name];
      const inner = listUndescribed(setting, here);
      return 'description' in setting || 'const' in setting ? inner : inner.concat(here.join('.'));
    });
  });
}

async function configJsonSchema(): Promise<z.ZodType> {
  const published = (await publishedSchemas()).find(({ path }) => path === 'config/schema.json');
  return z.fromJSONSchema(JSON.parse(published?.text ?? ''));
}
