import type { SettingPath } from './path.ts';

/** Settings from one source, which override those of the layers before it. */
export interface Layer {
  /** A mapping of the settings from this source, in the form of the configuration; not validated yet. */
  readonly value: unknown;
  /** Names the place where a person finds the setting: `muster.yaml:12`, `environment variable MUSTER_POOL__MAX`, `flag --sandboxes`. */
  findOrigin(path: SettingPath): string;
}

export interface Flag {
  /** The name as users type it: `--sandboxes`. */
  readonly name: string;
  readonly value: unknown;
  readonly path: readonly string[];
}
