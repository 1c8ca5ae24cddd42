#!/bin/sh
# sign_vault.sh REQUESTS SIGNED: let a PKI of HashiCorp Vault sign each request. VAULT_ADDR and a login are set outside.
# Its roles are those of docs/deploy/site_ca.md: kafka-node for the listeners by which nodes know each other, kafka-server
# for all others.
set -eu
pki=${VAULT_PKI:-pki}
mkdir -p "$2"
python3 -c '
import json, sys
for row in json.load(open(sys.argv[1])):
    print("kafka-node" if row["kind"] == "node" else "kafka-server", row["common_name"], row["file"])
' "$1/requests.json" > "$2/.requests"
while read -r role common_name file; do
  vault write -field=certificate "$pki/sign/$role" "csr=@$1/$file" "common_name=$common_name" \
    > "$2/${file%.csr}.pem" < /dev/null
done < "$2/.requests"
rm "$2/.requests"
# CAs between these certificates and kafka_ca_certificate, if there are any: one file for all.
vault read -field=certificate "$pki/cert/ca_chain" > "$2/ca_chain.pem"
