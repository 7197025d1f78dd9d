# The gateway, without root and with nothing but /tmp to write to:
#
#   docker build -t innervoice .
#   docker run --rm --read-only -p 8807:8807 --env-file gateway.env \
#     -v ./deploy/gateway.toml:/etc/innervoice/gateway.toml:ro innervoice

FROM python:3.13-slim AS build
COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
# From whichever package index is configured for the build.
RUN python -m venv /opt/innervoice \
 && /opt/innervoice/bin/pip install --no-cache-dir "/source[gateway]"

FROM python:3.13-slim
COPY --from=build /opt/innervoice /opt/innervoice
ENV PATH=/opt/innervoice/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# By number, so that Kubernetes can see that it is not root.
USER 10001:10001
# Workers tell each other here what they count. Nothing else is written.
VOLUME /tmp
EXPOSE 8807
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8807/health/live', timeout=2)"]
ENTRYPOINT ["innervoice", "serve"]
CMD ["--config", "/etc/innervoice/gateway.toml", "--log-format", "json"]
