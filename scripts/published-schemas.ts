import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { z } from 'zod';
import { preparationSchema } from '../src/agents/preparation/preparation-report.ts';
import { musterTaskSchema } from '../src/agents/tasks/muster-schema.ts';
import { caseSchema } from '../src/agents/tasks/test-case.ts';
import { verdictSchema } from '../src/agents/verification/verdict.ts';
import { batchSchema } from '../src/faces/client/batch/batch-file.ts';
import { configSchema } from '../src/app/configuration.ts';
import { agentSchema } from '../src/agents/acting/agent.ts';
import { trajectorySchema } from '../src/agents/rollouts/record/trajectory.ts';
import { PROVIDERS } from '../src/app/sandboxes/providers.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import { comparisonSummarySchema } from '../src/orchestrator/results/comparison-summary.ts';
import { planSchema } from '../src/orchestrator/planning/evaluation-plan.ts';
import { replaySchema } from '../src/orchestrator/replay/replay-document.ts';
import { tuningSchema } from '../src/orchestrator/tuning/tuning.ts';
import { suiteSchema } from '../src/orchestrator/suite/suite.ts';
import { summariesSchema } from '../src/orchestrator/results/summaries.ts';
import { summarySchema } from '../src/orchestrator/results/summary.ts';

export interface PublishedFile {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly text: string;
}

/** Generates every committed JSON Schema, and the default configuration. */
export async function publishedSchemas(): Promise<readonly PublishedFile[]> {
  const schemas = await Promise.all([
    published('config/schema.json', partial(z.toJSONSchema(configSchema, { io: 'input' }))),
    published('docs/schemas/suite.schema.json', z.toJSONSchema(suiteSchema, { io: 'input' })),
    published('docs/schemas/batch.schema.json', z.toJSONSchema(batchSchema, { io: 'input' })),
    published('docs/schemas/summary.schema.json', z.toJSONSchema(summarySchema)),
    published('docs/schemas/comparison.schema.json', z.toJSONSchema(comparisonSummarySchema)),
    published('docs/schemas/plan.schema.json', z.toJSONSchema(planSchema)),
    published('docs/schemas/tuning.schema.json', z.toJSONSchema(tuningSchema)),
    published('docs/schemas/summaries.schema.json', z.toJSONSchema(summariesSchema)),
    published('docs/schemas/replay.schema.json', z.toJSONSchema(replaySchema)),
    published('docs/schemas/muster-task.schema.json', z.toJSONSchema(musterTaskSchema, { io: 'input' })),
    published('docs/schemas/agent.schema.json', z.toJSONSchema(agentSchema, { io: 'input' })),
    published('docs/schemas/trajectory.schema.json', z.toJSONSchema(trajectorySchema)),
    published('docs/schemas/task-case.schema.json', z.toJSONSchema(caseSchema, { io: 'input' })),
    published('docs/schemas/preparation.schema.json', z.toJSONSchema(preparationSchema)),
    published('docs/schemas/verdict.schema.json', z.toJSONSchema(verdictSchema)),
  ]);
  return [{ path: DEFAULTS, text: defaults() }, ...schemas];
}

const DEFAULTS = 'config/default.yaml';
/** In the default configuration, the providers' lines begin after this one, and end before the next top-level key. */
const PROVIDERS_BEGIN = /(?<=\n    # The settings of each provider\.[^\n]*\n).*?(?=\n\S)/s;

/** Returns the default configuration with the settings of each provider, and the comments of its folder. */
function defaults(): string {
  const sections = PROVIDERS.map(({ name }) => join(PACKAGE_ROOT, 'src/adapters/sandbox', name, 'defaults.yaml')).filter(existsSync);
  const lines = sections.flatMap((path) => readFileSync(path, 'utf8').trimEnd().split('\n'));
  const indented = lines.map((line) => (line === '' ? line : `    ${line}`)).join('\n');
  return readFileSync(join(PACKAGE_ROOT, DEFAULTS), 'utf8').replace(PROVIDERS_BEGIN, () => `${indented}\n`);
}

async function published(path: string, schema: unknown): Promise<PublishedFile> {
  const style = await resolveConfig(new URL(import.meta.url));
  return { path, text: await format(JSON.stringify(schema), { ...style, parser: 'json' }) };
}

/**
 * A configuration file contains only settings that differ from the defaults, so no key of a mapping is required. In the items of a list all
 * keys are.
 */
function partial(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema;
  const kept = Object.entries(schema).filter(([key]) => key !== 'required');
  return Object.fromEntries(
    kept.map(([key, value]) => [key, key === 'properties' ? partialProperties(value) : key === 'items' ? value : partial(value)]),
  );
}

/** The keys of `properties` are names of settings, not keywords of JSON Schema. */
function partialProperties(properties: unknown): unknown {
  if (typeof properties !== 'object' || properties === null) return properties;
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, partial(schema)]));
}
