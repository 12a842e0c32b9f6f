import { describe, expect, it } from 'vitest';
import { parsePod, readPodState, type PodState } from '../../../../src/adapters/sandbox/kubernetes/cluster/pod-view.ts';

const state = (status: object, metadata: object = {}): PodState =>
  readPodState(parsePod({ metadata: { name: 'pod', ...metadata }, status }));
const containers = (...states: readonly object[]): object[] =>
  states.map((state, i) => ({ name: i === 0 ? 'program' : 'inbox', ready: 'running' in state, state }));
const waiting = (reason: string): object => ({ waiting: { reason, message: 'said the kubelet' } });
const disrupted = (reason: string): object => ({ type: 'DisruptionTarget', status: 'True', reason, message: 'said Kubernetes' });
const RUNNING = { running: { startedAt: '2026-01-01T00:00:00Z' } };

describe('what happens to a pod', () => {
  it('is ready when all of its containers run', () => {
    expect(state({ phase: 'Running', containerStatuses: containers(RUNNING, RUNNING) })).toEqual({ kind: 'ready' });
    expect(state({ phase: 'Pending' })).toEqual({ kind: 'pending', obstacle: undefined });
    expect(state({ phase: 'Running', containerStatuses: containers(RUNNING, waiting('ContainerCreating')) }).kind).toBe('pending');
  });

  it.each([
    ['ErrImagePull', 'image', false],
    ['ImagePullBackOff', 'image', true],
    ['InvalidImageName', 'image', true],
    ['ErrImageNeverPull', 'image', true],
    ['CreateContainerConfigError', 'container', true],
    ['RunContainerError', 'container', true],
  ])('a container that waits for %s is an obstacle of its own', (reason, kind, isStuck) => {
    const detail = `container "program": ${reason}: said the kubelet`;
    expect(state({ containerStatuses: containers(waiting(reason)) })).toEqual({ kind: 'pending', obstacle: { kind, detail, isStuck } });
  });

  it('a pod without a node waits, with the message of the scheduler', () => {
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes are available' };
    const obstacle = { kind: 'unschedulable', detail: 'Unschedulable: 0/3 nodes are available', isStuck: false };
    expect(state({ phase: 'Pending', conditions: [condition] })).toEqual({ kind: 'pending', obstacle });
  });

  it.each([
    ['evicted', { phase: 'Failed', reason: 'Evicted', message: 'low on memory' }],
    ['evicted', { phase: 'Running', conditions: [disrupted('EvictionByEvictionAPI')] }],
    ['preempted', { phase: 'Running', conditions: [disrupted('PreemptionByScheduler')] }],
    ['node-lost', { phase: 'Running', conditions: [disrupted('DeletionByTaintManager')] }],
    ['node-lost', { phase: 'Unknown', reason: 'NodeLost' }],
    ['deadline', { phase: 'Failed', reason: 'DeadlineExceeded' }],
    ['out-of-memory', { phase: 'Running', containerStatuses: containers({ terminated: { reason: 'OOMKilled', exitCode: 137 } }, RUNNING) }],
    ['ended', { phase: 'Running', containerStatuses: containers({ terminated: { reason: 'Error', exitCode: 137 } }, RUNNING) }],
    ['ended', { phase: 'Running', containerStatuses: containers(RUNNING, { terminated: { reason: 'OOMKilled', exitCode: 137 } }) }],
    ['ended', { phase: 'Succeeded' }],
  ])('%s is distinguished from other ends', (kind, status) => {
    expect(state(status)).toMatchObject({ kind: 'ended', end: { kind } });
  });

  it('a pod that is being deleted has ended, with the known reason', () => {
    const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' };
    expect(state({ phase: 'Running', containerStatuses: containers(RUNNING) }, deleting)).toMatchObject({ end: { kind: 'deleted' } });
    expect(state({ conditions: [disrupted('PreemptionByScheduler')] }, deleting)).toMatchObject({ end: { kind: 'preempted' } });
  });
});
