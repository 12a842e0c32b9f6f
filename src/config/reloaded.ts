import { isDeepStrictEqual } from 'node:util';
import { isMapping, formatPath, type SettingPath } from '../kernel/documents/path.ts';
import type { Config } from './config.ts';

/** The result of reloading the configuration while Muster runs. */
export interface Reloaded {
  /** The configuration in force from now on: the wanted one, except for settings that need a restart. */
  readonly config: Config;
  /** Paths of the settings whose new values are in force. */
  readonly changed: readonly string[];
  /** Paths of the settings whose new values need a restart. */
  readonly pending: readonly string[];
}

/** @param inForce the running configuration. @param wanted the configuration as it was just read. */
export function applyReload(inForce: Config, wanted: Config): Reloaded {
  const config = withChanges(inForce, wanted);
  return { config, changed: listDifferences(inForce, config), pending: listDifferences(config, wanted) };
}

/**
 * Takes over all settings that are looked up at each use. The others were fixed when listeners, directories, databases and sandboxes were
 * opened.
 */
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

/** Returns the settings in force, with the named ones taken from the wanted settings. */
function takeSettings<Settings extends object>(inForce: Settings, wanted: Settings, names: readonly (keyof Settings)[]): Settings {
  const changed = { ...inForce };
  for (const name of names) changed[name] = wanted[name];
  return changed;
}

/** Lists the paths at which two values differ. Descends into mappings only. */
function listDifferences(a: unknown, b: unknown, path: SettingPath = []): readonly string[] {
  if (isDeepStrictEqual(a, b)) return [];
  if (!isMapping(a) || !isMapping(b)) return [formatPath(path)];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((key) => listDifferences(a[key], b[key], [...path, key]));
}
