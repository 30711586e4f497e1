"""Arrow Flight as tasks and the driver use it: an address, a secret in every call, TLS if asked."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight

FAULTS: tuple[type[Exception], ...] = (flight.FlightError, pa.ArrowException, OSError)
"""What a call to another process may raise."""

_HEADER = "x-whence-secret"


@dataclass(frozen=True, slots=True)
class Tls:
    """A certificate with its key for all endpoints of a job, and the name that it is for."""

    certificate: bytes
    """PEM; what clients trust."""
    key: bytes
    hostname: str

    def __repr__(self) -> str:
        return f"Tls({self.hostname!r})"


@dataclass(frozen=True, slots=True)
class Access:
    """What it takes to speak to the endpoints of a job."""

    secret: bytes
    tls: Tls | None = None

    def __repr__(self) -> str:
        return "Access(…)"  # never a secret in a log

    def location(self, host: str, port: int) -> str:
        """Return the address of an endpoint."""
        if ":" in host and not host.startswith("["):
            host = f"[{host}]"
        return f"{'grpc+tcp' if self.tls is None else 'grpc+tls'}://{host}:{port}"

    def connect(self, location: str) -> Any:
        """Return a client of an endpoint."""
        if self.tls is None:
            return flight.FlightClient(location)
        return flight.FlightClient(
            location,
            tls_root_certs=self.tls.certificate,
            override_hostname=self.tls.hostname,
        )

    def options(self, timeout: float | None = None) -> Any:
        """Return the options of one call; only calls that last have no timeout."""
        return flight.FlightCallOptions(
            timeout=timeout, headers=[(_HEADER.encode(), self.secret.hex().encode())]
        )


class _Doorkeeper(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Refuses every call without the secret."""

    def __init__(self, secret: bytes) -> None:
        super().__init__()
        self._secret = secret.hex().encode()

    def start_call(self, info: Any, headers: Mapping[str, list[str]]) -> None:
        given = headers.get(_HEADER, [""])[0]
        if not hmac.compare_digest(str(given).encode(), self._secret):
            raise flight.FlightUnauthenticatedError("this endpoint is another job's")


class Endpoint(flight.FlightServerBase):  # type: ignore[misc]
    """A Flight service that only those with the job's secret can speak to."""

    def __init__(self, host: str, access: Access) -> None:
        certificates = None
        if access.tls is not None:
            certificates = [(access.tls.certificate, access.tls.key)]
        super().__init__(
            access.location(host, 0),
            tls_certificates=certificates,
            middleware={"secret": _Doorkeeper(access.secret)},
        )
        self.location = access.location(host, self.port)
