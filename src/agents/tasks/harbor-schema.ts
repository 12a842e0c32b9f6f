import { z } from 'zod';
import { isTaskId, TASK_ID_EXPECTED } from './task-ids.ts';

/**
 * Harbor's `task.toml`, schema 1.0 to 1.4, as its authors write it. Unknown keys are kept and reported, as Harbor ignores them. The names are
 * Harbor's, including seconds and mebibytes.
 */
const seconds = z.number().positive('expected more than 0 seconds').max(31_536_000);
const environmentVariables = z.record(z.string().regex(/^[A-Za-z_]\w*$/, 'expected a variable name'), z.string());
const user = z.union([z.string().min(1), z.int().min(0)]).describe('a user name or a user id');

export const NETWORK_MODES = ['public', 'no-network', 'allowlist'] as const;
const network = {
  network_mode: z.enum(NETWORK_MODES).optional(),
  allowed_hosts: z.array(z.string().min(1).max(253)).max(1000).optional(),
};

export const artifactSchema = z
  .union([
    z.string().min(1).max(1024),
    z.looseObject({
      source: z.string().min(1).max(1024),
      destination: z.string().min(1).max(1024).optional(),
      exclude: z.array(z.string().min(1)).max(100).default([]),
      service: z.string().optional(),
    }),
  ])
  .describe('a path, or source, destination and exclude');

export const agentSchema = z.looseObject({ timeout_sec: seconds.optional(), user: user.optional(), ...network });

const collectSchema = z.looseObject({
  command: z.string().min(1),
  service: z.string().default('main'),
  timeout_sec: seconds.default(60),
  user: user.optional(),
});

const resources = {
  build_timeout_sec: seconds.default(600),
  docker_image: z.string().min(1).max(1024).optional(),
  os: z.enum(['linux', 'windows']).default('linux'),
  cpus: z.number().positive().max(4096).optional(),
  memory_mb: z.int().min(1).optional(),
  storage_mb: z.int().min(1).optional(),
  memory: z.string().optional().describe('deprecated: "2G"; memory_mb'),
  storage: z.string().optional().describe('deprecated: "10G"; storage_mb'),
  gpus: z.int().min(0).nullable().optional(),
  gpu_types: z.array(z.string()).nullable().optional(),
  tpu: z.unknown().optional(),
  allow_internet: z.boolean().optional().describe('deprecated; network_mode'),
  env: environmentVariables.default({}),
  skills_dir: z.string().nullable().optional(),
  workdir: z.string().startsWith('/', 'expected an absolute path').nullable().optional(),
  mcp_servers: z.array(z.record(z.string(), z.unknown())).default([]),
  healthcheck: z.record(z.string(), z.unknown()).optional(),
};

const environmentSchema = z.looseObject({ ...network, ...resources });

export const verifierSchema = z.looseObject({
  timeout_sec: seconds.default(600),
  env: environmentVariables.default({}),
  user: user.optional(),
  ...network,
  environment_mode: z.enum(['shared', 'separate']).optional(),
  environment: environmentSchema.optional(),
  collect: z.array(collectSchema).max(32).default([]),
});

const stepSchema = z.looseObject({
  name: z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, 'expected 1 to 64 letters, digits, ".", "_" or "-"'),
  agent: agentSchema.prefault({}),
  verifier: verifierSchema.prefault({}),
  min_reward: z.union([z.number(), z.record(z.string(), z.number())]).optional(),
  healthcheck: z.record(z.string(), z.unknown()).optional(),
  artifacts: z.array(artifactSchema).max(1000).default([]),
});

const taskTable = z.looseObject({
  name: z
    .string()
    .refine((name) => isTaskId(name) && name.includes('/'), TASK_ID_EXPECTED.replace('"name" or ', ''))
    .describe('org/name'),
  version: z.string().optional(),
  description: z.string().default(''),
  authors: z.array(z.looseObject({ name: z.string(), email: z.string().optional() })).default([]),
  keywords: z.array(z.string()).max(1000).default([]),
});

export const harborSchema = z
  .looseObject({
    schema_version: z.string().optional(),
    version: z.string().optional().describe('what schema_version was called before 1.1'),
    source: z.string().optional(),
    artifacts: z.array(artifactSchema).max(1000).default([]),
    multi_step_reward_strategy: z.enum(['mean', 'final']).default('mean'),
    task: taskTable.optional(),
    metadata: z.record(z.string(), z.unknown()).default({}),
    solution: z.looseObject({ env: environmentVariables.default({}) }).prefault({}),
    agent: agentSchema.prefault({}),
    verifier: verifierSchema.prefault({}),
    environment: environmentSchema.prefault({}),
    steps: z.array(stepSchema).min(1).max(100).optional(),
  })
  .describe('Harbor task');

export type HarborTask = z.infer<typeof harborSchema>;
export type HarborVerifier = z.infer<typeof verifierSchema>;
export type HarborEnvironment = z.infer<typeof environmentSchema>;
export type HarborArtifact = z.infer<typeof artifactSchema>;
