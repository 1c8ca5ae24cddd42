# Written by Millrace; change the inventory, not this file.
export KAFKA_BOOTSTRAP=kafka1.example.org:9092,kafka2.example.org:9092,kafka3.example.org:9092
export KAFKA_CLIENT_CONFIG=/etc/kafka/client.properties
export JAVA_HOME=/usr
