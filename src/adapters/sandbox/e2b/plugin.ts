import { createProviderPlugin } from '../../../pool/ports/provider-plugin.ts';
import { createE2bTemplate, createE2bWorkspace } from './e2b-template.ts';
import { z } from 'zod';

/** The settings of sandboxes at E2B. The key is no setting: it is read from the environment variable E2B_API_KEY. */
const e2bSchema = z
  .strictObject({
    template: z
      .string()
      .regex(/^[\w./:-]{1,200}$/, 'expected the name or the id of an E2B template')
      .describe('name or id of the E2B template that sandboxes are made from; deploy/e2b builds one'),
    runner: z
      .enum(['baked', 'uploaded'])
      .describe("baked: the E2B template holds the runner; uploaded: this Muster's own is sent into every sandbox"),
    python: z
      .string()
      .regex(/^[^\0]+$/, 'expected the name or the path of an interpreter')
      .describe('the interpreter inside'),
    visible: z
      .array(z.string().regex(/^(\/[^/\0]+)+$/, 'expected an absolute path'))
      .min(1)
      .max(64)
      .describe('directories of the E2B template that programs in workspaces see, read-only'),
    maxSandboxes: z.int().min(1).max(100_000).describe('sandboxes at the same time, as the plan allows; pool.max counts when it is lower'),
    creationsPerSecond: z.number().positive().max(1000).describe('as the plan allows; pool.creationsPerSecond counts when it is lower'),
    tenancySeconds: z
      .number()
      .min(30)
      .max(86_400)
      .describe('E2B ends a sandbox that was not extended for this long; Muster extends its own three times as often'),
    pauseSeconds: z
      .union([z.literal('never'), z.number().min(1).max(86_400)], { error: 'expected "never" or a number of seconds from 1 on' })
      .describe('an idle sandbox is paused after this long, where the plan allows, and resumed when it is needed'),
  })
  .describe('for templates with provider: e2b');

export const e2b = createProviderPlugin({
  name: 'e2b',
  summary: 'E2B’s service',
  settings: e2bSchema,
  isOwnMachine: false,
  playsApart: false,
  async open(host) {
    // The service's client would cost every command half a second.
    const { createE2bProvider } = await import('./e2b-provider.ts');
    return createE2bProvider({ ...host, account: { apiKey: process.env['E2B_API_KEY'] ?? '' } });
  },
  template: async (name, settings, own) => createE2bTemplate(name, settings, own),
  workspace: async (name, settings, own) => createE2bWorkspace(name, settings, own),
  getAllowance: ({ maxSandboxes, creationsPerSecond, pauseSeconds }) => ({
    max: maxSandboxes,
    creationsPerSecond,
    restSeconds: pauseSeconds === 'never' ? undefined : pauseSeconds,
  }),
  refusesFetching: (way) => (way === 'pull' ? undefined : { problem: 'only nodes of a cluster have a cache', remedy: 'set it to pull' }),
});
