/**
 * Whether requests to a server are sent at present.
 *
 * closed: requests are sent. After enough consecutive failures the circuit opens: none is sent until a time has passed. Then a single request, the
 * probe, is sent while all others wait. When it succeeds the circuit closes; when it fails, the circuit is open again.
 */
export type Circuit =
  | { readonly kind: 'closed'; readonly failures: number }
  | { readonly kind: 'open'; readonly until: number }
  | { readonly kind: 'probing'; readonly since: number };

export interface CircuitTerms {
  /** Failures in a row that open it. */
  readonly failures: number;
  readonly openMs: number;
  /** A probe without an answer after this long does not keep others from probing. */
  readonly probeMs: number;
}

export const CLOSED: Circuit = { kind: 'closed', failures: 0 };

/** Whether a request may go out now, or how long to wait before asking again, in milliseconds. */
export type Permission = { readonly kind: 'go'; readonly circuit: Circuit } | { readonly kind: 'wait'; readonly ms: number };

export function askPermission(circuit: Circuit, now: number, { probeMs }: CircuitTerms): Permission {
  switch (circuit.kind) {
    case 'closed':
      return { kind: 'go', circuit };
    case 'open':
      return now >= circuit.until ? { kind: 'go', circuit: { kind: 'probing', since: now } } : { kind: 'wait', ms: circuit.until - now };
    case 'probing': {
      const left = circuit.since + probeMs - now;
      return left <= 0 ? { kind: 'go', circuit: { kind: 'probing', since: now } } : { kind: 'wait', ms: left };
    }
  }
}

export function recordFailure(circuit: Circuit, now: number, { failures, openMs }: CircuitTerms): Circuit {
  if (circuit.kind === 'open') return circuit;
  const count = circuit.kind === 'probing' ? failures : circuit.failures + 1;
  return count >= failures ? { kind: 'open', until: now + openMs } : { kind: 'closed', failures: count };
}
