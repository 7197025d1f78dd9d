# The gateway, without root and with nothing but /tmp and its store to write to:
#
#   docker build -t innervoice .
#   docker run --rm --read-only -p 8807:8807 --env-file gateway.env -v innervoice:/var/lib/innervoice \
#     -v ./deploy/gateway.toml:/etc/innervoice/gateway.toml:ro innervoice

FROM python:3.13-slim AS build
COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
# From whichever package index is configured for the build.
RUN python -m venv /opt/innervoice \
 && /opt/innervoice/bin/pip install --no-cache-dir "/source[gateway,redis,postgres,prices,view]"

FROM python:3.13-slim
COPY --from=build /opt/innervoice /opt/innervoice
ENV PATH=/opt/innervoice/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# The store, unless the configuration has it elsewhere.
RUN install -d -m 0700 -o 10001 -g 10001 /var/lib/innervoice
# By number, so that Kubernetes can see that it is not root.
USER 10001:10001
# Workers tell each other in /tmp what they count. Nothing else is written.
VOLUME /tmp /var/lib/innervoice
EXPOSE 8807
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8807/health/live', timeout=2)"]
ENTRYPOINT ["innervoice", "serve"]
CMD ["--config", "/etc/innervoice/gateway.toml", "--log-format", "json"]
