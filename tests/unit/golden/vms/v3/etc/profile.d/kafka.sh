# Written by Millrace; change the inventory, not this file.
export KAFKA_BOOTSTRAP=v1:9092,v2:9092,v3:9092
export KAFKA_CLIENT_CONFIG=/etc/kafka/client.properties
export JAVA_HOME=/usr
