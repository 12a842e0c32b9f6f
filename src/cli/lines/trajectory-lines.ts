import type { Trajectory, Turn } from '../../agents/rollouts/record/trajectory.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';

export const LIST_HEAD: readonly string[] = ['trajectory', 'task', 'reward', 'turns', 'tokens', 'ended by'];
/** The largest number of characters of an observation that are shown. */
const SHOWN = 2000;

export function formatListLine({ trajectory, task, reward, turns, usage, stopReason }: Trajectory): readonly string[] {
  const rewarded = reward === null ? 'none' : reward.toFixed(3).replace(/\.?0+$/, '');
  return [trajectory, task, rewarded, String(turns.length), String(usage.completionTokens), stopReason];
}

/** Describes the trajectory for people: all messages, with long observations shortened. */
export function describeTrajectory(trajectory: Trajectory): readonly string[] {
  const { task, model, reward, components, verdict, stopReason, segments, prompt, turns } = trajectory;
  const parts = Object.entries(components).map(([name, value]) => `${name} ${value}`);
  return [
    `${trajectory.trajectory}  ${task}  ${escapeUnprintableLine(model ?? 'unknown model')}`,
    `reward ${reward ?? 'none'}${parts.length > 0 ? ` (${parts.join(', ')})` : ''}, ended by ${stopReason}, ${segments.length} segments`,
    ...(verdict === null || verdict === '' ? [] : verdict.split('\n').map((line) => `  ${escapeUnprintableLine(line)}`)),
    ...prompt.flatMap(({ role, content }) => describeBlock(role, content)),
    ...turns.flatMap((turn, i) => describeTurn(turn, i + 1)),
  ];
}

function describeTurn({ message, toolCalls, observations, usage, policyVersion }: Turn, number: number): readonly string[] {
  const version = policyVersion === null ? '' : `, version ${policyVersion}`;
  return [
    '',
    `── turn ${number}: ${usage.promptTokens} + ${usage.completionTokens} tokens${version}`,
    ...(message.reasoning === null ? [] : describeBlock('reasoning', message.reasoning)),
    ...(message.content === '' ? [] : describeBlock('says', message.content)),
    ...toolCalls.flatMap((call) => describeBlock(`calls ${call.name}`, call.arguments)),
    ...observations.flatMap(({ text }) => describeBlock('is told', text)),
  ];
}

function describeBlock(name: string, text: string): readonly string[] {
  const shown = text.length > SHOWN ? `${text.slice(0, SHOWN)} [… ${text.length - SHOWN} characters more]` : text;
  return [`${escapeUnprintableLine(name)}:`, ...shown.split('\n').map((line) => `  ${escapeUnprintableLine(line)}`)];
}
