/** Of all processes in a sandbox together, those included that have ended; without what the provider does not count. */
export interface SandboxUsage {
  readonly cpuSeconds?: number;
  /** What it wrote to its own directories included; without what it shares with other sandboxes. */
  readonly peakMemoryBytes?: number;
  /** Most at a time, with threads, and with what else of the sandbox is in its control group; where only the present number is known, that. */
  readonly processes?: number;
}
