import { monitorEventLoopDelay } from 'node:perf_hooks';

/** What a process did between two questions. */
export interface Delay {
  /** Milliseconds from one look of a timer of one millisecond to the next: how long the event loop was held up, and that millisecond. */
  readonly p50: number;
  readonly p99: number;
  /** Looks of the timer. A hundredth of them lies above `p99`. */
  readonly looks: number;
  /** Milliseconds a second, of all threads of the process. */
  readonly processor: number;
}

/** Tells the process that forked this one, each time that it asks, how long the event loop was held up since the last time. Ends with that process. */
export function answerWithDelays(): void {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  let [used, since] = [process.cpuUsage(), performance.now()];
  process.on('message', () => {
    const { user, system } = process.cpuUsage(used);
    const processor = (user + system) / (performance.now() - since);
    process.send?.({ p50: delay.percentile(50) / 1e6, p99: delay.percentile(99) / 1e6, looks: delay.count, processor } satisfies Delay);
    delay.reset();
    [used, since] = [process.cpuUsage(), performance.now()];
  });
  process.once('disconnect', () => process.exit());
}
