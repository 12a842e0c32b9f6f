/** How sandboxes of a template are had at E2B: the template's `e2b` settings. */
export interface E2bMachine {
  /** Name or id of the E2B template. */
  readonly template: string;
  /** `baked`: the E2B template holds the runner. `uploaded`: this Muster's own is sent into every sandbox. */
  readonly runner: 'baked' | 'uploaded';
  /** The interpreter inside: a path, or a name that is looked up in PATH. */
  readonly python: string;
  /** Sandboxes at the same time, as the plan allows. */
  readonly maxSandboxes: number;
  /** As the plan allows. */
  readonly creationsPerSecond: number;
  /** E2B ends a sandbox that nobody has extended for this long. */
  readonly tenancySeconds: number;
  /** After this long without use a sandbox is paused. */
  readonly pauseSeconds: 'never' | number;
}
