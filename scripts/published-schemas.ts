import { format, resolveConfig } from 'prettier';
import { z } from 'zod';
import { batchSchema } from '../src/faces/client/batch/batch-file.ts';
import { configSchema } from '../src/config/schema.ts';
import { comparisonSummarySchema } from '../src/orchestrator/results/comparison-summary.ts';
import { planSchema } from '../src/orchestrator/planning/evaluation-plan.ts';
import { tuningSchema } from '../src/orchestrator/tuning/tuning.ts';
import { suiteSchema } from '../src/orchestrator/suite/suite.ts';
import { summariesSchema } from '../src/orchestrator/results/summaries.ts';
import { summarySchema } from '../src/orchestrator/results/summary.ts';

export interface PublishedSchema {
  /** Relative to the top of the repository. */
  readonly path: string;
  readonly text: string;
}

/** Every JSON Schema that is generated and committed, as its file should be. */
export async function publishedSchemas(): Promise<readonly PublishedSchema[]> {
  return Promise.all([
    published('config/schema.json', partial(z.toJSONSchema(configSchema, { io: 'input' }))),
    published('docs/schemas/suite.schema.json', z.toJSONSchema(suiteSchema, { io: 'input' })),
    published('docs/schemas/batch.schema.json', z.toJSONSchema(batchSchema, { io: 'input' })),
    published('docs/schemas/summary.schema.json', z.toJSONSchema(summarySchema)),
    published('docs/schemas/comparison.schema.json', z.toJSONSchema(comparisonSummarySchema)),
    published('docs/schemas/plan.schema.json', z.toJSONSchema(planSchema)),
    published('docs/schemas/tuning.schema.json', z.toJSONSchema(tuningSchema)),
    published('docs/schemas/summaries.schema.json', z.toJSONSchema(summariesSchema)),
  ]);
}

async function published(path: string, schema: unknown): Promise<PublishedSchema> {
  const style = await resolveConfig(new URL(import.meta.url));
  return { path, text: await format(JSON.stringify(schema), { ...style, parser: 'json' }) };
}

/** A configuration file holds only what differs, so no key of a mapping has to be there; in the items of a list each must. */
function partial(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema;
  const kept = Object.entries(schema).filter(([key]) => key !== 'required');
  return Object.fromEntries(
    kept.map(([key, value]) => [key, key === 'properties' ? partialProperties(value) : key === 'items' ? value : partial(value)]),
  );
}

/** The keys of `properties` are names of settings, whatever they are called. */
function partialProperties(properties: unknown): unknown {
  if (typeof properties !== 'object' || properties === null) return properties;
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, partial(schema)]));
}
