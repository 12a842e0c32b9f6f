# The server, for a cluster whose pods are its sandboxes: it needs no bubblewrap and no Python.
#   docker build -f deploy/docker/muster.Dockerfile -t muster:0.1.0 .
FROM node:24-bookworm-slim
WORKDIR /opt/muster
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force
COPY config config
COPY src src
COPY muster ./
ENV NODE_ENV=production MUSTER_STATE_DIR=/var/lib/muster NODE_COMPILE_CACHE=/opt/muster/.compiled
# The first start compiles what all later ones find.
RUN install -d -o 1000 -g 1000 /var/lib/muster && node src/cli/muster.ts serve --help > /dev/null
USER 1000:1000
EXPOSE 7677
# "muster" takes the Node of the development tools; here there is one only.
ENTRYPOINT ["node", "--max-semi-space-size=16", "src/cli/muster.ts"]
CMD ["serve"]
