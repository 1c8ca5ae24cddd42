"""Wrong inventories and legal variations: what operators write about Spark."""

from __future__ import annotations

from tests.unit.rules.draft import NODES, Case, Legal

DYNAMIC = "spark.dynamicAllocation"
TRACKING = f"{DYNAMIC}.shuffleTracking.enabled"

REFUSED: list[Case] = [
    *(
        ("unknown-key", key, lambda d, key=key: d.own_spark(key, "1g"), (key, near))
        for key, near in {
            "spark.executor.memroy": "spark.executor.memory",
            "spark.sql.shuffle.partition": "spark.sql.shuffle.partitions",
            "spark.worker.memory": "spark_config[spark.worker.memory]",
            "spark.eventlog.compress": "spark.eventLog.compress",
            "spark.executr.cores": "spark.executor.cores",
        }.items()
    ),
    *(
        ("key-value", f"{key}={value}", lambda d, k=key, v=value: d.own_spark(k, v), (key, phrase))
        for key, value, phrase in (
            ("spark.executor.memory", "1.5g", "a size such as"),
            ("spark.network.timeout", "2 min", "a time such as"),
            ("spark.task.cpus", 0, "[1,...,2147483647]"),
            ("spark.scheduler.mode", "FAIRE", "FIFO"),
            ("spark.eventLog.compress", "yes", "boolean"),
            ("spark.shuffle.service.port", "here", "an int"),
            ("spark.io.compression.codec", "gzip", "zstd"),
            ("spark.log.level", "WARNING", "warn"),
            ("spark.serializer", "kryo", "a class name"),
        )
    ),
    (
        "spark-resources",
        "no worker has one",
        lambda d: d.own_spark("spark.executor.resource.gpu.amount", 1),
        ("spark.worker.resource.gpu.amount",),
    ),
    (
        "spark-resources",
        "no executor has one",
        lambda d: d.own_spark("spark.task.resource.fpga.amount", 1),
        ("spark.executor.resource.fpga.amount",),
    ),
    *(
        (
            "spark-config-differs",
            key,
            lambda d, key=key, value=value: (
                d.own_spark(key, value).vault(f"spark_config[{key}]"),
                d.variable("spark_config", {"spark.ui.port": 4050}, on=("k2",)),
            ),
            (key, "k2", "none"),
        )
        for key, value in (
            ("spark.authenticate.secret", "a" * 32),
            ("spark.ssl.rpc.enabled", True),
        )
    ),
    (
        "service-name-underscore",
        "Spark",
        lambda d: d.variable("spark_host", "spark_2", on=("k2",)),
        ("spark_2", "spark://", "spark_host of k2"),
    ),
    *(
        (
            "spark-java-options",
            f"{key} {option}",
            lambda d, key=key, option=option: d.own_spark(
                key, f"-Xss4m {option}{'=hunter2' * (option[1] == 'D')}"
            ),
            (option, fix),
        )
        for key, option, fix in (
            ("spark.executor.extraJavaOptions", "-Xmx4g", "what a worker has"),
            ("spark.executor.extraJavaOptions", "-Xmx2g", "spark.executor.memory: 2g"),
            ("spark.driver.defaultJavaOptions", "-Xmx512m", "spark.driver.memory: 512m"),
            ("spark.executor.extraJavaOptions", "-Dspark.ui.port", "set spark.ui.port in"),
        )
    ),
    *(
        (
            "spark-memory-minimum",
            str(value),
            lambda d, value=value: d.own_spark("spark.executor.memory", value),
            (f"{shown} MiB", "450m"),
        )
        for value, shown in ((4, 4), ("449m", 449), ("0", 0))
    ),
    *(
        (
            "spark-driver-memory",
            str(value),
            lambda d, value=value: d.own_spark("spark.driver.memory", value),
            (f"is {value}", "1024m"),
        )
        for value in (1024, "1gb", "1024mb")
    ),
    *(
        (
            "spark-numbers",
            " ".join(config),
            lambda d, config=config: [
                d.own_spark(key, value)
                for key, value in {f"{DYNAMIC}.enabled": True, **config}.items()
            ],
            tuple(config),
        )
        for config in (
            {"spark.executor.heartbeatInterval": "120s"},
            {"spark.network.timeout": "10s"},
            {"spark.task.cpus": 2, "spark.executor.cores": 1},
            {"spark.executor.cores": 2, "spark.cores.max": 1},
            {f"{DYNAMIC}.minExecutors": 3, f"{DYNAMIC}.maxExecutors": 2},
        )
    ),
    *(
        (
            "spark-required-property",
            key,
            lambda d, key=key: d.own_spark(key, True),
            (f"{key} is true", f"Set {required}"),
        )
        for key, required in (
            ("spark.network.crypto.enabled", "spark.authenticate: true"),
            ("spark.memory.offHeap.enabled", "spark.memory.offHeap.size: "),
        )
    ),
    *(
        (
            "spark-fraction",
            str(value),
            lambda d, value=value: d.own_spark("spark.memory.fraction", value),
            (f"is {value}", "between 0 and 1"),
        )
        for value in (60, 1.5, 0)
    ),
    (
        "spark-allocation",
        "nothing keeps shuffle files",
        lambda d: (
            d.own_spark(f"{DYNAMIC}.enabled", True)
            .own_spark(TRACKING, False)
            .own_spark("spark.decommission.enabled", False)
        ),
        ("spark.shuffle.service.enabled: true",),
    ),
    *(
        (
            "spark-differs",
            variable,
            lambda d, variable=variable, value=value: d.variable(variable, value, on=("k3",)),
            (f"{value} on k3", f"Set {variable} once"),
        )
        for variable, value in (("spark_shared_dir", "/mnt/spark"), ("spark_uid", 1234))
    ),
]

LEGAL: list[Legal] = [
    *(
        ("key-value", f"{key}={value}", lambda d, k=key, v=value: d.own_spark(k, v))
        for key, value in (
            ("spark.io.compression.codec", "ZSTD"),
            ("spark.io.compression.codec", "com.example.Codec"),
            ("spark.log.level", "Warn"),
            ("spark.serializer", "org.apache.spark.serializer.KryoSerializer"),
        )
    ),
    (
        "spark-resources",
        "workers have it",
        lambda d: d.own_spark("spark.executor.resource.gpu.amount", 1).own_spark(
            "spark.worker.resource.gpu.amount", 2
        ),
    ),
    ("spark-resources", "none", lambda d: d.own_spark("spark.executor.resource.gpu.amount", 0)),
    (
        "spark-config-differs",
        "another key",
        lambda d: d.variable("spark_config", {"spark.ui.port": 4050}, on=("k2",)),
    ),
    *(
        ("unknown-key", key, lambda d, key=key: d.own_spark(key, "x"))
        for key in (
            "spark.acme.input.path",
            "spark.app.region",
            "spark.hadoop.fs.s3a.endpoint",
            "spark.executorEnv.LANG",
            "spark.sql.catalog.lake",
            "spark.sql.iceberg.handle-timestamp-without-timezone",
            "spark.shuffle.io.maxRetries",
            "spark.ssl.ui.keyStore",
            "spark.databricks.delta.merge.enableLowShuffle",
            "spark.sql.streaming.stateStore.rocksdb.compactOnCommit",
        )
    ),
    *(
        ("key-value", f"{key}={value}", lambda d, k=key, v=value: d.own_spark(k, v))
        for key, value in (
            ("spark.executor.memory", "1G"),
            ("spark.network.timeout", 300),
            ("spark.network.timeout", "5min"),
            ("spark.scheduler.mode", "fair"),
            ("spark.eventLog.compress", "TRUE"),
            ("spark.jars", ["/opt/a.jar", "/opt/b.jar"]),
            ("spark.sql.shuffle.partitions", "${unknown}"),
        )
    ),
    ("service-address", "a hyphen", lambda d: d.variable("spark_host", "spark-2", on=("k2",))),
    (
        "spark-java-options",
        "others",
        lambda d: d.own_spark("spark.executor.extraJavaOptions", "-Xss4m -XX:+UseG1GC -Dx=-Xmx1g"),
    ),
    ("spark-memory-minimum", "least", lambda d: d.own_spark("spark.executor.memory", "450m")),
    ("spark-memory-minimum", "MiB", lambda d: d.own_spark("spark.executor.memory", 1024)),
    ("spark-driver-memory", "Java's", lambda d: d.own_spark("spark.driver.memory", "2G")),
    *(
        (
            "spark-numbers",
            " ".join(config),
            lambda d, config=config: [d.own_spark(key, value) for key, value in config.items()],
        )
        for config in (
            {"spark.executor.heartbeatInterval": "119s"},
            {"spark.executor.heartbeatInterval": "20s", "spark.network.timeout": "1h"},
            {f"{DYNAMIC}.minExecutors": 3, f"{DYNAMIC}.maxExecutors": 2},
            # Without a unit one counts milliseconds and the other seconds.
            {"spark.executor.heartbeatInterval": 20000, "spark.network.timeout": 120},
            {"spark.task.cpus": 1, "spark.executor.cores": 1},
            {f"{DYNAMIC}.minExecutors": 2, f"{DYNAMIC}.maxExecutors": 2},
        )
    ),
    (
        "spark-required-property",
        "both",
        lambda d: d.own_spark("spark.memory.offHeap.enabled", True).own_spark(
            "spark.memory.offHeap.size", "1g"
        ),
    ),
    (
        "spark-required-property",
        "off",
        lambda d: d.own_spark("spark.ssl.rpc.enabled", True),
    ),
    *(
        ("spark-fraction", f"{key} {value}", lambda d, k=key, v=value: d.own_spark(k, v))
        for key, value in (
            ("spark.memory.fraction", 0.75),
            ("spark.memory.fraction", 1.0),
            ("spark.memory.storageFraction", 0),
        )
    ),
    (
        "spark-resources",
        "in a file",
        lambda d: d.own_spark("spark.executor.resource.gpu.amount", 1).own_spark(
            "spark.worker.resourcesFile", "/etc/spark/gpus.json"
        ),
    ),
    (
        "spark-resources",
        "in the options of daemons",
        lambda d: d.own_spark("spark.executor.resource.gpu.amount", 1).variable(
            "spark_java_options", ["-Dspark.worker.resource.gpu.amount=2"]
        ),
    ),
    (
        "spark-config-differs",
        "a default that is written",
        lambda d: d.variable("spark_config", {"spark.network.crypto.enabled": False}, on=("k2",)),
    ),
    ("unknown-key", "of PySpark", lambda d: d.own_spark("spark.python.worker.memory", "1g")),
    ("spark-allocation", "Spark's own", lambda d: d.own_spark(f"{DYNAMIC}.enabled", True)),
    (
        "spark-allocation",
        "shuffle service",
        lambda d: (
            d.own_spark(f"{DYNAMIC}.enabled", True)
            .own_spark(TRACKING, False)
            .own_spark("spark.shuffle.service.enabled", True)
        ),
    ),
    ("spark-differs", "the same", lambda d: d.variable("spark_uid", 1234, on=NODES)),
]
