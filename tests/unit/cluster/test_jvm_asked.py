"""Which options the Java of a host is asked about, and in which form."""

from __future__ import annotations

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.jvm_options import (
    asked,
    java_words,
)


@pytest.mark.parametrize(
    "options",
    [
        "-XX:+UseG1GC -Xss1m",
        "-Xlog:gc*:stdout:time",
        "-Xlog",
        "--add-opens java.base/java.nio=ALL-UNNAMED",
        "--enable-native-access=ALL-UNNAMED",
        "-XX:HeapDumpPath=/var/tmp/a",
        "-XX:MaxGCPauseMilis=20",
        "-verbose:gc",
        "-Xmn128k",
    ],
)
def test_what_java_judges_by_itself_is_asked(options: str) -> None:
    assert java_words(asked(java_words(options))) == options.split()


@pytest.mark.parametrize(
    "option",
    [
        "-Dcom.sun.management.jmxremote.port=9010",
        "-Djavax.net.ssl.keyStorePassword=hunter2",
        "-javaagent:/opt/agent.jar=9404:/etc/agent.yml",
        "-agentlib:jdwp=transport=dt_socket,server=y,address=*:5005",
        "-agentpath:/opt/agent.so",
        "-Xrunjdwp:transport=dt_socket",
        "-Xbootclasspath/a:/opt/a.jar",
        "-XXaltjvm=/opt/jvm",
        "-J-XXaltjvm=/opt/jvm",
        "-XX:CompileCommandFile=/etc/kafka/commands",
        "-XX:CompilerDirectivesFile=/etc/kafka/directives",
        "-cp /opt/a.jar",
        "--module-path=/opt/modules",
        "--add-modules acme",
        "@/etc/kafka/options",
        "-XX:VMOptionsFile=/etc/kafka/options",
        "-XX:Flags=/etc/kafka/flags",
        "-Xshare:dump",
        "-Xshare:on",
        "-XX:ArchiveClassesAtExit=/var/tmp/a.jsa",
        "-XX:SharedArchiveFile=/var/tmp/a.jsa",
        "-XX:+AutoCreateSharedArchive",
        "-XX:+DumpSharedSpaces",
        "-XX:DumpLoadedClassList=/var/tmp/a",
        "-XX:AOTCacheOutput=/var/tmp/a.aot",
        "-XX:AOTMode=record",
        "-XX:LogFile=/var/tmp/a.log",
        "-XX:PerfDataSaveFile=/var/tmp/a",
        "-XX:StartFlightRecording",
        "-XX:StartFlightRecording=filename=/var/tmp/a.jfr",
        "-XX:FlightRecorderOptions=repository=/var/tmp",
        "-XX:CRaCRestoreFrom=/var/tmp/a",
        "-XX:AllocateHeapAt=/mnt/pmem",
        "-XX:OnOutOfMemoryError='kill -9 %p'",
        "-XX:OnError=reboot",
        "-Xms4g",
        "-Xmx4g",
        "-XX:InitialRAMPercentage=50",
        "-XX:MaxHeapSize=4g",
        "-XX:SoftMaxHeapSize=4g",
    ],
)
def test_what_would_have_an_effect_or_be_a_secret_is_not_asked(option: str) -> None:
    assert asked(java_words(f"-Xint {option} -Xss1m")) == "-Xint -Xss1m"


@pytest.mark.parametrize(
    ("option", "form"),
    [
        ("-Xlog:gc*:file=/var/log/gc.log", "-Xlog:gc*:file=log"),
        ("-Xlog:gc:/var/log/gc.log:time:filecount=5", "-Xlog:gc:file=log:time:filecount=5"),
        ("""'-Xlog:gc:file="/a:b.log":time'""", "-Xlog:gc:file=log:time"),
        ("-Xlog:gc:stdout.log", "-Xlog:gc:file=log"),
        ("-Xlog::/var/log/all.log", "-Xlog::file=log"),
        ("-Xloggc:/var/log/gc.log", "-Xloggc:log"),
        ("-javax.net.ssl.keyStorePassword=hunter2", "-javax.net.ssl.keyStorePassword"),
    ],
)
def test_a_log_gets_another_file_and_a_secret_is_left_out(option: str, form: str) -> None:
    assert java_words(asked(java_words(option))) == [form]


@pytest.mark.parametrize(
    "options",
    [
        "-Xint kafka.Kafka",
        "-jar /opt/a.jar",
        "-m a/b",
        "--module=a/b",
        "-Xint -version",
        "\u2013Xint",
    ],
)
def test_java_is_not_asked_where_it_would_run_another_program(options: str) -> None:
    assert asked(java_words(options)) == ""


def test_the_value_of_an_option_is_no_program() -> None:
    assert asked(java_words("-cp kafka.Kafka --add-reads a=b -Xint")) == "--add-reads a=b -Xint"
