import { z } from 'zod';
import { NO_SETTINGS, type ProviderPlugin } from '../pool/ports/provider-plugin.ts';
import { LIMIT_NAMES, TEMPLATE_NAME, TEMPLATE_NAME_EXPECTED } from '../pool/ports/template.ts';
import { byteSizeSchema } from './byte-size.ts';
import { deliverySchema, templateDeliverySchema } from './delivery-schema.ts';
import { serverSchema } from './serve-schema.ts';
import { arenaSchema, quotasSchema, sourcesSchema, webhooksSchema, storeSchema } from './server-schema.ts';

/**
 * The only definition of the configuration: its settings, their meaning and their types. It holds no default values: config/default.yaml
 * holds and explains them, and every other layer overrides it. Only a provider's plug-in knows the schema of its own settings.
 */

const AUTO = z.literal('auto');
const seconds = z.number().positive().max(31_536_000);
const milliseconds = z.number().positive().max(86_400_000);
const count = (most: number) => z.int().min(1).max(most);
const createAutoOr = (most: number, meaning: string) =>
  z
    .union([AUTO, count(most)], { error: `expected "auto" or a whole number from 1 to ${most}` })
    .describe(`"auto" (${meaning}) or a whole number`);

const MAX_SANDBOXES = 100_000;

const poolSchema = z
  .strictObject({
    min: z.int().min(0).max(MAX_SANDBOXES).describe('sandboxes kept even when no evaluation needs them'),
    max: createAutoOr(MAX_SANDBOXES, 'one for each processor').describe('sandboxes that exist at most; "auto": one for each processor'),
    warm: z.int().min(0).max(MAX_SANDBOXES).describe('idle sandboxes kept ready beyond those in use'),
    creationConcurrency: createAutoOr(10_000, 'thirty-two for each processor').describe(
      'sandboxes being created at once; "auto": thirty-two for each processor',
    ),
    creationsPerSecond: z.number().positive().max(10_000).describe('most creations a second in the long run'),
    readySeconds: seconds.describe('from the start of a creation to a runner that answers'),
    maxCreationFailures: count(1000).describe('rounds of creation that fail in a row before the evaluation gives up'),
    idleSeconds: seconds.describe('an unneeded sandbox lives this long'),
    heartbeatSeconds: seconds.describe('how often an idle runner is asked whether it lives, and how long it has to answer'),
    leaseSeconds: seconds.describe('a lease that is not renewed for this long is revoked'),
    episodesPerSandbox: count(1_000_000_000).describe('episodes after which a sandbox is replaced'),
  })
  .describe('how many sandboxes there are, and how long things in the pool may take');

const absolutePath = z.string().regex(/^\/[^\0]*$/, 'expected an absolute path');
const moduleName = z.string().regex(/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/, 'expected the name of a Python module');
const variableName = z.string().regex(/^[A-Za-z_]\w*$/, 'expected the name of an environment variable');

const variableValue = z.string().regex(/^[^\0]*$/, 'expected text without NUL characters');

const limitsSchema = z
  .strictObject({
    memoryBytes: byteSizeSchema.describe('memory; bytes, or text such as "1GiB"'),
    processes: count(1_000_000).describe('processes and threads'),
    cpus: z.number().positive().max(4096).describe('processors, in fractions'),
    diskBytes: byteSizeSchema.describe('all that can be written to /tmp and /dev/shm together; bytes, or text such as "512MiB"'),
    lifetimeSeconds: seconds.describe('from creation to the sandbox being destroyed'),
  })
  .describe('each for the whole process tree of one sandbox');

/** The settings of every template, whatever its provider. */
const commonTemplateSettings = {
  python: z
    .union([AUTO, absolutePath], { error: 'expected "auto" or the absolute path of an interpreter' })
    .describe('the Python interpreter that plays episodes; "auto": the one that belongs to this installation'),
  imports: z.array(moduleName).max(64).describe('modules that the runner imports before its sandbox counts as ready'),
  command: z
    .array(z.string().min(1))
    .min(1)
    .max(256)
    .optional()
    .describe('a runner of your own instead of the Python one; python and imports are not used then'),
  start: z
    .enum(['auto', 'forked', 'plain'])
    .describe(
      'forked: sandboxes share the memory of one process that has imported everything; plain: each imports for itself; auto: forked where possible',
    ),
  sharedPolicies: z
    .enum(['auto', 'never'])
    .describe(
      'auto: forked sandboxes share one copy in memory of a checkpoint that is data alone, when it is large or each episode has a sandbox of its own; never: each loads its own',
    ),
  sharedCode: z
    .array(z.string().min(1).max(200))
    .max(256)
    .describe(
      'names of suites, and digests of checkpoints, whose own code may be loaded before sandboxes are forked, outside of their walls',
    ),
  policy: z
    .enum(['auto', 'together', 'apart'])
    .describe(
      'together: the policy is played in the process of the environment; apart: in a sandbox of its own beside it, so that code that comes with a checkpoint cannot reach the environment; auto: apart on a server with tokens where a checkpoint may bring code, else together',
    ),
  delivery: templateDeliverySchema,
  environment: z.record(variableName, variableValue).describe('environment variables inside; nothing is inherited'),
  mounts: z
    .array(z.strictObject({ source: absolutePath.describe('path on the host'), target: absolutePath.describe('path in the sandbox') }))
    .max(64)
    .describe('host paths, visible read-only inside'),
  network: z.enum(['none', 'host']).describe('none: no network; host: the network of the host'),
  limits: limitsSchema,
  demands: z.array(z.enum(LIMIT_NAMES)).describe('limits that must be enforced for the whole tree, or no sandbox is made'),
  costPerSandboxHour: z
    .number()
    .min(0)
    .max(1e9)
    .optional()
    .describe('what an hour of one leased sandbox costs, in any currency; for budget.cost and the cost in summaries'),
};

type ProviderSettings = Pick<ProviderPlugin, 'name' | 'summary' | 'settings'>;

/** A template as it is configured. Only the provider's plug-in reads the part under the provider's name. */
export type TemplateConfig = z.infer<z.ZodObject<typeof commonTemplateSettings>> & { readonly provider: string } & Readonly<
    Record<string, unknown>
  >;

function getTemplateSchema(providers: readonly ProviderSettings[]): z.ZodType<TemplateConfig> {
  const withSettings = providers.filter(({ settings }) => settings !== NO_SETTINGS);
  const summaries = providers.map(({ summary }) => summary);
  return z
    .strictObject({
      provider: z
        .enum(providers.map(({ name }) => name))
        .describe(`what makes the sandboxes: ${summaries.slice(0, -1).join(', ')}, or ${summaries.at(-1)}`),
      ...commonTemplateSettings,
      ...Object.fromEntries(withSettings.map(({ name, settings }) => [name, settings])),
    })
    .describe('what a sandbox is made of; what a template leaves out it takes from "local"');
}

const templateName = z.string().regex(TEMPLATE_NAME, TEMPLATE_NAME_EXPECTED);

const evaluationSchema = z
  .strictObject({
    window: count(10_000_000).describe('indices that may be dispatched beyond the first one without an outcome'),
    rangeMilliseconds: milliseconds.describe('how long one range of episodes should keep a runner busy'),
    stragglerFactor: z
      .number()
      .min(1)
      .max(1000)
      .describe('an episode that takes so many times the usual duration gets a second copy on an idle sandbox'),
    stragglerMilliseconds: milliseconds.describe('no episode gets a second copy before this time'),
    maxAttempts: count(100).describe('how often an episode is played in all before it counts as unresolved'),
    infrastructureRetries: z.int().min(0).max(1000).describe('failures of infrastructure in a row that one slot for a sandbox may have'),
    retryMilliseconds: milliseconds.describe('before the first retry; doubled for each further one'),
    beginMilliseconds: milliseconds.describe('from a range of episodes being sent to an idle runner until it begins the first'),
    loadMilliseconds: milliseconds.describe("for a runner to import a suite's modules, load a checkpoint and make the environments"),
  })
  .describe('how episodes are dispatched; none of it changes a result');

/** Creates the schema of the whole configuration, with the settings of these providers. */
export function createConfigSchema(providers: readonly ProviderSettings[]) {
  return z
    .strictObject({
      stateDir: z
        .string()
        .min(1)
        .max(4096)
        .describe(
          'directory of the checkpoint store, the sandboxes and the records of their owners; "auto": $XDG_STATE_HOME/muster or ~/.local/state/muster',
        ),
      log: z
        .strictObject({
          level: z.enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']).describe('lowest level that is logged'),
        })
        .describe('the log on stderr'),
      pool: poolSchema,
      templates: z.record(templateName, getTemplateSchema(providers)).describe('templates of sandboxes, by the name that suites use'),
      evaluation: evaluationSchema,
      checkpoints: z
        .strictObject({
          maxBytes: byteSizeSchema.describe('for one checkpoint'),
          maxFiles: count(1_000_000).describe('in one checkpoint'),
          keptBytes: z
            .union([z.literal('unlimited'), byteSizeSchema], { error: 'expected "unlimited", or a number of bytes such as "500GiB"' })
            .describe('for all checkpoints together: a server removes those that were least recently used, never one in use'),
          unfinishedHours: z.number().min(1).max(8760).describe('an upload that is not continued is kept this long'),
        })
        .describe('bounds of checkpoints'),
      delivery: deliverySchema,
      store: storeSchema,
      quotas: quotasSchema,
      arena: arenaSchema,
      models: modelsSchema,
      sources: sourcesSchema,
      webhooks: webhooksSchema,
      server: serverSchema,
    })
    .describe('Muster configuration');
}

export type ConfigSchema = ReturnType<typeof createConfigSchema>;

/** The configuration as it is written, before "auto" is resolved. */
export type WrittenConfig = z.infer<ConfigSchema>;

const endpointSchema = z.strictObject({
  url: z
    .string()
    .regex(/^https?:\/\/[^\s?#]+$/, 'expected an http: or https: URL, such as http://127.0.0.1:8000/v1')
    .describe('base URL of an API like the one of OpenAI, with its version'),
  keyVariable: z
    .string()
    .regex(/^[A-Za-z_]\w*$/, 'expected the name of an environment variable')
    .optional()
    .describe('environment variable of Muster that holds the key'),
});

const modelsSchema = z
  .strictObject({
    endpoints: z
      .record(z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'expected 1 to 63 lower-case letters, digits or "-"'), endpointSchema)
      .describe('model servers that agents may name; on a Muster server, the only ones that they may use'),
    concurrency: z.int().min(1).max(100_000).describe('requests to one server at a time'),
    answerSeconds: z.number().positive().max(86_400).describe('for one answer'),
    patienceSeconds: z.number().positive().max(31_536_000).describe('for one answer with all waits and repetitions'),
  })
  .describe('servers of the models that act as agents');
