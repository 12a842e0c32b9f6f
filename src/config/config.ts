import { isAbsolute, join, resolve } from 'node:path';
import { InputError } from '../kernel/errors.ts';
import { namesServer } from '../kernel/documents/store-url.ts';
import type { PoolConfig } from '../pool/planning/pool-config.ts';
import type { TemplateConfig, WrittenConfig } from './schema.ts';

/** The configuration as Muster uses it: every "auto" is replaced by the value that the machine decides. */
export interface Config {
  /** Absolute. */
  readonly stateDir: string;
  readonly log: WrittenConfig['log'];
  readonly pool: PoolConfig;
  readonly templates: Readonly<Record<string, TemplateConfig>>;
  readonly evaluation: WrittenConfig['evaluation'];
  readonly checkpoints: WrittenConfig['checkpoints'];
  readonly delivery: WrittenConfig['delivery'];
  readonly store: {
    /** Absolute path of a file, or a PostgreSQL URL, perhaps with a password in it. */
    readonly url: string;
  };
  /** Quotas by principal. "default" applies to principals that are not named. */
  readonly quotas: WrittenConfig['quotas'];
  readonly arena: WrittenConfig['arena'];
  readonly models: WrittenConfig['models'];
  readonly sources: WrittenConfig['sources'];
  readonly webhooks: WrittenConfig['webhooks'];
  readonly server: Omit<WrittenConfig['server'], 'concurrentEvaluations'> & { readonly concurrentEvaluations: number };
}

export interface Machine {
  readonly processors: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** @throws InputError `config.state-dir` when there is no home directory for the default. */
export function resolveConfig(written: WrittenConfig, machine: Machine): Config {
  const { creationConcurrency } = written.pool;
  const max = written.pool.max === 'auto' ? Math.max(machine.processors, written.pool.min, 1) : written.pool.max;
  const stateDir = resolveStateDirectory(written.stateDir, machine.environment);
  const { concurrentEvaluations } = written.server;
  return {
    ...written,
    stateDir,
    store: { url: resolveStoreUrl(written.store.url, stateDir, machine.environment) },
    server: {
      ...written.server,
      concurrentEvaluations: concurrentEvaluations === 'auto' ? Math.max(8, 2 * max) : concurrentEvaluations,
    },
    pool: {
      ...written.pool,
      max,
      creationConcurrency: creationConcurrency === 'auto' ? 32 * machine.processors : creationConcurrency,
    },
  };
}

function resolveStateDirectory(written: string, environment: Machine['environment']): string {
  const { XDG_STATE_HOME: stateHome, HOME: home } = environment;
  if (written === 'auto') {
    // The XDG base-directory specification ignores relative paths in its variables.
    if (stateHome !== undefined && isAbsolute(stateHome)) return join(stateHome, 'muster');
    return join(requireHome(home), '.local', 'state', 'muster');
  }
  return resolvePath(written, home);
}

function resolveStoreUrl(written: string, stateDir: string, { HOME: home }: Machine['environment']): string {
  if (written === 'auto') return join(stateDir, 'muster.db');
  return namesServer(written) ? written : resolvePath(written, home);
}

function resolvePath(path: string, home: string | undefined): string {
  return path === '~' || path.startsWith('~/') ? join(requireHome(home), path.slice(1)) : resolve(path);
}

function requireHome(home: string | undefined): string {
  if (home !== undefined && isAbsolute(home)) return home;
  throw new InputError('config.state-dir', 'stateDir: HOME is not set; set it, or stateDir to an absolute path (MUSTER_STATE_DIR=/path)');
}
