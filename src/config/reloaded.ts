import { isDeepStrictEqual } from 'node:util';
import { isMapping, formatPath, type SettingPath } from '../kernel/documents/path.ts';
import type { Config } from './config.ts';

/** The result of reloading the configuration while Muster runs. */
export interface Reloaded {
  /** What is in force from now on: as it is wanted, but for what takes a restart. */
  readonly config: Config;
  /** Paths of the settings that are others now. */
  readonly changed: readonly string[];
  /** Paths of the settings that have changed, and take effect after a restart. */
  readonly pending: readonly string[];
}

/** @param inForce the configuration that runs. @param wanted as it was read. */
export function applyReload(inForce: Config, wanted: Config): Reloaded {
  const config = withChanges(inForce, wanted);
  return { config, changed: listDifferences(inForce, config), pending: listDifferences(config, wanted) };
}

/** All that is looked up when it is needed. What is not here was built into what is open: listeners, directories, databases, sandboxes. */
function withChanges(inForce: Config, wanted: Config): Config {
  return {
    ...takeSettings(inForce, wanted, ['log', 'evaluation', 'quotas', 'sources', 'webhooks']),
    arena: takeSettings(inForce.arena, wanted.arena, ['tasks', 'steps', 'seconds', 'bytesWritten', 'outputCharacters', 'idleSeconds']),
    pool: takeSettings(inForce.pool, wanted.pool, ['min', 'max', 'warm']),
    checkpoints: takeSettings(inForce.checkpoints, wanted.checkpoints, ['keptBytes']),
    server: takeSettings(inForce.server, wanted.server, [
      'suites',
      'grants',
      'inlineModules',
      'concurrentEvaluations',
      'pollSeconds',
      'reportSeconds',
      'drainSeconds',
      'retentionDays',
      'staleness',
      'maxWaitSeconds',
      'webhookSecret',
    ]),
  };
}

/** Settings as they are, but for some, which are as they are wanted. */
function takeSettings<Settings extends object>(inForce: Settings, wanted: Settings, names: readonly (keyof Settings)[]): Settings {
  const changed = { ...inForce };
  for (const name of names) changed[name] = wanted[name];
  return changed;
}

/** Paths where two values differ, as deep as mappings go. */
function listDifferences(a: unknown, b: unknown, path: SettingPath = []): readonly string[] {
  if (isDeepStrictEqual(a, b)) return [];
  if (!isMapping(a) || !isMapping(b)) return [formatPath(path)];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((key) => listDifferences(a[key], b[key], [...path, key]));
}
