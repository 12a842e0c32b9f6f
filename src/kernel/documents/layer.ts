import type { SettingPath } from './path.ts';

/** Settings from one place, laid over those of the layers before it. */
export interface Layer {
  /** A mapping of what this place sets, in the form of the configuration; not validated yet. */
  readonly value: unknown;
  /** Where a person finds the setting: `muster.yaml:12`, `environment variable MUSTER_POOL__MAX`, `flag --sandboxes`. */
  findOrigin(path: SettingPath): string;
}

export interface Flag {
  /** As it is typed: `--sandboxes`. */
  readonly name: string;
  readonly value: unknown;
  readonly path: readonly string[];
}
