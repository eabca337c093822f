"""Addresses at which a drive is served: local to this machine, unless the user asks for more."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator, Mapping

from flashgc._core import ConfigError

#: The warning if other machines can reach a drive without protection.
UNPROTECTED = (
    "no authentication and no encryption: whoever reaches it can read {what}; hint: --nbd "
    "unix:PATH or 127.0.0.1 through an SSH tunnel"
)


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT``, ``[IPV6]:PORT`` or ``PORT``, which means 127.0.0.1.

    Port 0 means any free port. Raises :class:`flashgc.ConfigError` for anything else.

    >>> parse_address("8080"), parse_address("[::1]:80")
    (('127.0.0.1', 8080), ('::1', 80))
    """
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        port = ""
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) < 1 << 16):
        raise ConfigError(
            f"HTTP address: found '{text}', expected HOST:PORT; hint: 127.0.0.1:8080, or "
            "[::1]:8080 for IPv6"
        )
    return host or "127.0.0.1", int(port)


def is_local(host: str) -> bool:
    """Return whether only this machine can reach a server at ``host``, an address or a name.

    A name without an address counts as local, since no server can listen there.

    >>> [is_local(host) for host in ("127.8.8.8", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::")]
    [True, True, True, False, False]
    """
    try:
        addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return True
    return all(_is_loopback(str(address[4][0])) for address in addresses)


def _is_loopback(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def check(addresses: Mapping[str, str | None], *, anywhere: bool) -> str | None:
    """Check that only this machine can reach the addresses of these options.

    The options are ``--nbd``, ``--nvme-tcp`` and ``--http``; an option without a value is ``None``.
    With ``anywhere``, other machines must be able to reach at least one address, and a warning is
    returned that it is not protected; otherwise ``None``. Raises :class:`flashgc.ConfigError`.
    """
    given = {option: address for option, address in addresses.items() if address is not None}
    beyond = list(_beyond(given))
    if beyond and not anywhere:
        option, address = beyond[0]
        raise ConfigError(
            f"{option}: {address} is for other machines too, expected an address of this one; "
            f"hint: {option} {_local(option, address)}, or --listen-anywhere: there is no "
            "authentication"
        )
    if anywhere and not beyond:
        text = ", ".join(f"{option} {value}" for option, value in given.items())
        raise ConfigError(
            f"--listen-anywhere: found {text or 'no address'}, expected an address that other "
            "machines reach; hint: leave --listen-anywhere out"
        )
    if not beyond:
        return None
    what = "and overwrite the drive" if any(pair[0] != "--http" for pair in beyond) else "its state"
    where = " and ".join(f"{option} {address}" for option, address in beyond)
    return f"warning: {where}: {UNPROTECTED.format(what=what)}"


def _beyond(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The options with an address that other machines can reach."""
    for option, address in given.items():
        if option == "--http":
            host = parse_address(address)[0]
        else:
            # An invalid address is refused when the server listens at it.
            host = "" if address.startswith("unix:") else address.rpartition(":")[0].strip("[]")
        if host and not is_local(host):
            yield option, address


def _local(option: str, address: str) -> str:
    port = address.rpartition(":")[2]
    return port if option == "--http" else f"127.0.0.1:{port}"
