# Written by Millrace; change the inventory, not this file.
export KAFKA_BOOTSTRAP=k1:9094,k2:9094,k3:9094
export KAFKA_CLIENT_CONFIG=/etc/kafka/client.properties
export JAVA_HOME=/usr
