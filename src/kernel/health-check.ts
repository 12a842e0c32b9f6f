/** The result of checking one thing that Muster requires (`problem` when it is missing) or profits from (`warning`). */
export interface Finding {
  readonly status: 'ok' | 'warning' | 'problem';
  /** The finding, in one line. */
  readonly found: string;
  /** Says how to correct it; `ok` has none. */
  readonly remedy?: string;
}

/** One line of `muster doctor`. */
export interface HealthCheck {
  readonly name: string;
  /** An error that it throws counts as a problem. */
  run(signal: AbortSignal): Promise<Finding>;
}

export function toOkFinding(found: string): Finding {
  return { status: 'ok', found };
}
