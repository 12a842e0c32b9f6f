import type { Program } from './in-memory-sandbox/program.ts';
import { systemClock, type Clock } from '../../src/kernel/clock.ts';
import { TEMPLATE } from './evaluation-fixture.ts';
import { scriptedRunner, type ScriptedAnswer, type ScriptedEpisode, type ScriptedRunnerOptions } from './in-memory-runner.ts';

/** As `PlayEpisode`; `lose` ends the lifetime of the episode's sandbox, so that the episode is lost with it. */
export type PlayLosable = (episode: ScriptedEpisode, lose: () => Promise<never>) => ScriptedAnswer | Promise<ScriptedAnswer>;

/** Sandboxes that an episode can have taken away, which a program cannot do by ending: that would be the episode's own crash or kill. */
export class LosableSandboxes {
  #endLatest = (): void => undefined;

  /** For the fixture of the program. An in-memory sandbox sets the timer of its lifetime just before it starts its program. */
  readonly clock: Clock = {
    ...systemClock,
    after: (delayMs, callback) => {
      if (delayMs === TEMPLATE.limits.lifetimeSeconds * 1000) this.#endLatest = callback;
      return systemClock.after(delayMs, callback);
    },
  };

  program(play: PlayLosable, options?: ScriptedRunnerOptions): Program {
    return (io) => {
      const end = this.#endLatest;
      const lose = (): Promise<never> => {
        end();
        return new Promise(() => undefined);
      };
      return scriptedRunner((episode) => play(episode, lose), options)(io);
    };
  }
}
