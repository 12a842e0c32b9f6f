import { isAbsolute, join, resolve } from 'node:path';
import { InputError } from '../kernel/errors.ts';
import type { PoolConfig } from '../pool/pool-config.ts';
import type { TemplateConfig, WrittenConfig } from './schema.ts';

/** The configuration as Muster works with it: every "auto" that depends on the machine alone worked out. */
export interface Config {
  /** Absolute. */
  readonly stateDir: string;
  readonly log: WrittenConfig['log'];
  readonly pool: PoolConfig;
  readonly templates: Readonly<Record<string, TemplateConfig>>;
  readonly evaluation: WrittenConfig['evaluation'];
  readonly checkpoints: WrittenConfig['checkpoints'];
}

export interface Machine {
  readonly processors: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** @throws InputError `config.state-dir` when there is no home directory to put the default in. */
export function workedOut(written: WrittenConfig, machine: Machine): Config {
  const { max, creationConcurrency } = written.pool;
  return {
    ...written,
    stateDir: stateDirectory(written.stateDir, machine.environment),
    pool: {
      ...written.pool,
      max: max === 'auto' ? Math.max(machine.processors, written.pool.min, 1) : max,
      creationConcurrency: creationConcurrency === 'auto' ? 32 * machine.processors : creationConcurrency,
    },
  };
}

function stateDirectory(written: string, environment: Machine['environment']): string {
  const { XDG_STATE_HOME: stateHome, HOME: home } = environment;
  if (written === 'auto') {
    // The base-directory specification has relative paths in its variables ignored.
    if (stateHome !== undefined && isAbsolute(stateHome)) return join(stateHome, 'muster');
    return join(homeDirectory(home), '.local', 'state', 'muster');
  }
  if (written === '~' || written.startsWith('~/')) return join(homeDirectory(home), written.slice(1));
  return resolve(written);
}

function homeDirectory(home: string | undefined): string {
  if (home !== undefined && isAbsolute(home)) return home;
  throw new InputError('config.state-dir', 'stateDir: HOME is not set; set it, or stateDir to an absolute path (MUSTER_STATE_DIR=/path)');
}
