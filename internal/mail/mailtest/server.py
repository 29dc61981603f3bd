"""An SMTP server for tests. argv: a JSON object of options. It prints its port and
then one JSON object for each mail, and ends when its standard input does."""

import json
import ssl
import sys

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

options = json.loads(sys.argv[1])


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        if address.startswith("refused"):
            return "550 5.1.1 there is no " + address
        if address.startswith("later"):
            return "451 4.3.0 try again"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        mail = {"from": envelope.mail_from, "to": envelope.rcpt_tos, "data": envelope.content.decode("utf-8", "replace"), "tls": session.ssl is not None or "ssl_context" in tls}
        print(json.dumps(mail), flush=True)
        return "250 OK"


def authenticate(server, session, envelope, mechanism, data):
    return AuthResult(success=(data.login, data.password) == (b"arena", options["password"].encode()), handled=False)


class OnAnyPort(Controller):
    def _trigger_server(self):
        self.port = self.server.sockets[0].getsockname()[1]  # it was 0
        super()._trigger_server()


context = None
if options.get("certificate"):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options["certificate"])
auth = {}
if options.get("password"):
    auth = {"authenticator": authenticate, "auth_required": True, "auth_require_tls": False}
tls = {}
if context and options.get("implicit"):
    tls = {"ssl_context": context}
elif context:
    tls = {"tls_context": context, "require_starttls": True}
controller = OnAnyPort(Handler(), hostname="127.0.0.1", port=0, **tls, **auth)
controller.start()
print(json.dumps({"port": controller.port}), flush=True)
sys.stdin.read()
controller.stop()
