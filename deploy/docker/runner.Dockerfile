# What sandboxes are made of on Kubernetes: the runner, Python, what the examples import, and what pods that dial back need (websockets).
#   docker build -f deploy/docker/runner.Dockerfile -t muster-runner:0.1.0 .
FROM python:3.12-slim-bookworm
RUN pip install --no-cache-dir 'gymnasium==1.*' 'numpy==2.*' 'safetensors==0.*' 'onnxruntime==1.*' 'websockets==17.*' 'backports.zstd==1.*; python_version < "3.14"'
COPY runner /muster/runner
# Compiled ahead: the file system is read-only in a pod.
RUN python3 -m compileall -q /muster/runner
USER 1000:1000
WORKDIR /tmp
# The pod says what its containers wait with.
CMD ["python3", "-I", "/muster/runner"]
