/** Usage of all processes of a sandbox together, ended ones included; without what the provider does not count. */
export interface SandboxUsage {
  readonly cpuSeconds?: number;
  /** Includes what the sandbox wrote to its own directories; excludes memory that it shares with other sandboxes. */
  readonly peakMemoryBytes?: number;
  /** The largest number of processes and threads at a time in the sandbox's control group; the present number where only that is known. */
  readonly processes?: number;
}
