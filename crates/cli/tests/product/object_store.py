"""moto's S3 server with an empty bucket `fleet`: object_store.py PORT. It takes requests whose signature is that which botocore makes of
them; of requests with a header it looks only at the key, since those are the test's and DuckDB's own."""

import datetime
import sys
from unittest import mock
from urllib.parse import parse_qsl, quote

from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.s3.models import s3_backends
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

KEY, SECRET, REGION = "dwell-key", "dwell-secret", "eu-test-1"


def refusal(environ):
    """Why the request is refused; None for a good one."""
    query = dict(parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True))
    given = query.pop("X-Amz-Signature", None)
    if given is None:
        return None if f"Credential={KEY}/" in environ.get("HTTP_AUTHORIZATION", "") else "InvalidAccessKeyId"
    if query["X-Amz-Credential"].split("/")[0] != KEY:
        return "InvalidAccessKeyId"
    time = datetime.datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ")
    others = [f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in query.items() if not name.startswith("X-Amz-")]
    url = f"http://{environ['HTTP_HOST']}{environ['RAW_URI'].split('?')[0]}?{'&'.join(others)}"
    request = AWSRequest(environ["REQUEST_METHOD"], url)
    signer = S3SigV4QueryAuth(Credentials(KEY, SECRET), "s3", REGION, expires=int(query["X-Amz-Expires"]))
    with mock.patch("botocore.auth.get_current_datetime", lambda *_, **__: time):
        signer.add_auth(request)
    wanted = dict(parse_qsl(request.url.split("?", 1)[1]))["X-Amz-Signature"]
    return None if given == wanted else "SignatureDoesNotMatch"


def checked(application):
    def answer(environ, start):
        code = refusal(environ)
        if code is None:
            return application(environ, start)
        start("403 Forbidden", [("Content-Type", "application/xml")])
        return [f"<Error><Code>{code}</Code><Message>no such key or secret</Message></Error>".encode()]

    return answer


s3_backends["123456789012"]["aws"].create_bucket("fleet", REGION)
server = make_server("127.0.0.1", int(sys.argv[1]), checked(DomainDispatcherApplication(create_backend_app)), threaded=True)
print(server.server_port, flush=True)
server.serve_forever()
