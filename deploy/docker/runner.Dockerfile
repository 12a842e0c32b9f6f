# What sandboxes are made of on Kubernetes and in Docker: Python, the runner and what it imports, and what pods that dial back need (websockets).
# "npm run images" builds it, of what it has put into the context: the runner, and the packages as wheels.
ARG BASE=python:3.12-slim-bookworm
FROM ${BASE} AS packages
COPY wheels /wheels
COPY files/runner/requirements.txt /requirements.txt
RUN python3 -m venv /muster/python && /muster/python/bin/python -m pip install --no-index --find-links=/wheels -r /requirements.txt

FROM ${BASE}
COPY --from=packages /muster/python /muster/python
COPY files/runner /muster/runner
ENV PATH=/muster/python/bin:$PATH
# Compiled ahead: the file system is read-only in a pod.
RUN python3 -m compileall -q /muster/runner
USER 1000:1000
WORKDIR /tmp
# The pod says what its containers wait with.
CMD ["python3", "-I", "/muster/runner"]
