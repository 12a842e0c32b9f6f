import { InfrastructureError, InputError } from '../kernel/errors.ts';
import { BATCHING_SINCE, PROTOCOL_VERSIONS, type Batching, type ReadyFrame, type RunnerFrame } from './frames.ts';

/** Returns undefined for a version of the protocol that Muster speaks. */
export function findProtocolProblem({ protocol }: ReadyFrame): string | undefined {
  if (PROTOCOL_VERSIONS.includes(protocol)) return undefined;
  return `the runner speaks protocol ${protocol}, expected ${PROTOCOL_VERSIONS.join(' or ')}`;
}

/** @throws InputError `runner.plays-no-blocks` */
export function assertPlaysBlocks(ready: ReadyFrame | undefined, { form }: Batching): void {
  if (ready && ready.protocol >= BATCHING_SINCE) return;
  const found = `the runner ${JSON.stringify(ready?.runner)} speaks protocol ${ready?.protocol} and plays episodes one by one`;
  const remedy = 'give the template a runner that does, or leave "play" out of the suite';
  throw new InputError('runner.plays-no-blocks', `${found}; expected protocol ${BATCHING_SINCE} for "play: ${form}": ${remedy}`);
}

/** Reads a runner's remarks about what it has loaded. @throws InputError when it has refused it; InfrastructureError when it has loaded something else. */
export function readLoadAnswer(frame: RunnerFrame, policyDigest: string): readonly string[] {
  switch (frame.type) {
    case 'loaded':
      if (frame.digest === policyDigest) return frame.warnings;
      throw new InfrastructureError('checkpoint.mismatch', `the runner loaded ${frame.digest}, expected ${policyDigest}`);
    case 'refused': {
      const code = frame.part === 'policy' ? 'checkpoint.refused' : 'suite.refused';
      throw new InputError(code, `the ${frame.part} was refused by the runner: ${frame.message}`);
    }
    default:
      throw new InfrastructureError('runner.protocol', `the runner answered a load with "${frame.type}"`);
  }
}
