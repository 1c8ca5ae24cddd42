# Written by Millrace; change the inventory, not this file.
export KAFKA_BOOTSTRAP=k1:9092,k2:9092,k3:9092
export KAFKA_CLIENT_CONFIG=/etc/kafka/client.properties
export JAVA_HOME=/usr
