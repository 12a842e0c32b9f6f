/** One thing that Muster needs (`problem` without it) or profits from (`warning`). */
export interface Finding {
  readonly status: 'ok' | 'warning' | 'problem';
  /** What was found, in one line. */
  readonly found: string;
  /** What to do about it; for `ok` there is nothing to do. */
  readonly remedy?: string;
}

/** One line of `muster doctor`. */
export interface HealthCheck {
  readonly name: string;
  /** What it throws is a problem by itself. */
  run(signal: AbortSignal): Promise<Finding>;
}

export function toOkFinding(found: string): Finding {
  return { status: 'ok', found };
}
