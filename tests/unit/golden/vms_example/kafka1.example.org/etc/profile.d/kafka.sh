# Written by Millrace; change the inventory, not this file.
export KAFKA_BOOTSTRAP=kafka1.example.org:9094,kafka2.example.org:9094,kafka3.example.org:9094
export KAFKA_CLIENT_CONFIG=/etc/kafka/client.properties
export JAVA_HOME=/usr
