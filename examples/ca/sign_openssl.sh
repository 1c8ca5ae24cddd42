#!/bin/sh
# sign_openssl.sh REQUESTS SIGNED: sign each request with openssl, for practice. The files of the CA are named by
# CA_CERTIFICATE and CA_KEY. It signs whatever a request asks for: a real CA decides that itself.
set -eu
mkdir -p "$2"
for request in "$1"/*.csr; do
  openssl x509 -req -in "$request" -copy_extensions copy -days "${CA_DAYS:-90}" \
    -CA "$CA_CERTIFICATE" -CAkey "$CA_KEY" -out "$2/$(basename "$request" .csr).pem" 2>/dev/null
done
