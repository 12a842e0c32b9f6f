/** A template's further settings for sandboxes at E2B. */
export interface E2bMachine {
  /** Name or id of the E2B template. */
  readonly template: string;
  /** `baked`: the E2B template holds the runner. `uploaded`: this Muster's own is sent into every sandbox. */
  readonly runner: 'baked' | 'uploaded';
  /** The interpreter inside: a path, or a name that is looked up in PATH. */
  readonly python: string;
  /** Directories of the E2B template that programs in workspaces see, where it has them. */
  readonly visible: readonly string[];
  /** E2B ends a sandbox that was not extended for this long. */
  readonly tenancySeconds: number;
}

/** The provider's part of a template. */
export class E2bPart {
  readonly machine: E2bMachine;

  constructor(machine: E2bMachine) {
    this.machine = machine;
  }
}
