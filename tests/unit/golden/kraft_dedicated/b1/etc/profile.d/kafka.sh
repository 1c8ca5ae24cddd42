# Written by Millrace; change the inventory, not this file.
export KAFKA_BOOTSTRAP=b1:9094,b2:9094,b3:9094
export KAFKA_CLIENT_CONFIG=/etc/kafka/client.properties
export JAVA_HOME=/usr
