from __future__ import annotations

import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    changed_keys,
    parse_properties,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import files


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("# a=1\n  ! b=2\n\n \t\n", {}),
        ("a=1\nb: 2\nc 3\nd\t=\t4", {"a": "1", "b": "2", "c": "3", "d": "4"}),
        ("a\nb=\nc = ", {"a": "", "b": "", "c": ""}),
        ("a=1 \n", {"a": "1 "}),
        ("a=b=c:d", {"a": "b=c:d"}),
        ("a = = b", {"a": "= b"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=one,\\\n   two,\\\n\tthree\nb=2", {"a": "one,two,three", "b": "2"}),
        ("a=x\\\\\nb=2", {"a": "x\\", "b": "2"}),
        ("a=x\\\n# kept", {"a": "x# kept"}),
        ("a=x\\", {"a": "x"}),
        (r"a\=b\:c\ d=e\tf\u0041\q", {"a=b:c d": "e\tfAq"}),
        (r"path=C:\\kafka", {"path": "C:\\kafka"}),
        ("# comment \\\na=1", {"a": "1"}),
    ],
)
def test_parse(text: Any, expected: Any) -> None:
    assert parse_properties(text) == expected


def test_a_broken_unicode_escape_names_its_line() -> None:
    with pytest.raises(ValueError, match=r"line 2: .*four hexadecimal digits"):
        parse_properties("a=1\nb=\\u12\n")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a=1\nb=2", "b=2\n# note\na = 1\n", []),
        ("a=1\nb=2", "b=3\nc=1", ["a", "b", "c"]),
        ("", "z=1\na=1", ["a", "z"]),
        ("a=", "", ["a"]),
        ("a=\\u1", "b=1", ["b"]),
    ],
)
def test_changed_keys(before: str, after: str, expected: Any) -> None:
    assert changed_keys(before, after) == expected


TEXTS = {
    "latin": "Zürich",
    "beyond Latin-1": "東京 😀",
    "rule": r"RULE:^CN=(\w+),.*$/$1/L,DEFAULT",
    "quotes": r'X required password="a\"b";',
    "blanks": "  begins and ends ",
    "lines": "-----BEGIN-----\nMIIB\r\n\tend\f",
    "signs": "a=b:c #d !e ${file:/x:y}",
    "escape": r"\u0041\q",
    "empty": "",
    "true": True,
    "list": ["a", "b"],
    "a:b=c #d!é": "key",
    "#comment": "key",
}
SHOWN = {**TEXTS, "true": "true", "list": "a,b"}
READER = """
import java.io.*; import java.nio.charset.*; import java.util.*;
public class Read {
  public static void main(String[] args) throws IOException {
    Properties found = new Properties();
    // As Kafka and ZooKeeper do, and as Spark and Kafka's config providers do.
    if (args[1].equals("bytes")) found.load(new FileInputStream(args[0]));
    else found.load(new InputStreamReader(new FileInputStream(args[0]), StandardCharsets.UTF_8));
    DataOutputStream out = new DataOutputStream(System.out);
    for (String key : found.stringPropertyNames()) {
      for (String text : new String[] {key, found.getProperty(key)}) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_16BE);
        out.writeInt(bytes.length); out.write(bytes);
      }
    }
  }
}
"""


def output(command: list[str], **options: Any) -> bytes:
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, **options)
    return bytes(done.stdout)


def test_what_is_rendered_is_read_back() -> None:
    assert parse_properties(files.properties(TEXTS)) == SHOWN


@pytest.mark.skipif(not shutil.which("javac"), reason="no compiler of Java here")
@pytest.mark.parametrize("way", ["bytes", "UTF-8"])
def test_java_reads_back_what_is_rendered(way: str, tmp_path: Path) -> None:
    (tmp_path / "Read.java").write_text(READER)
    (tmp_path / "x.properties").write_text(files.properties(TEXTS), encoding="utf-8")
    command = ["java", "Read.java", "x.properties", way]
    shown = output(command, cwd=tmp_path)
    texts = []
    while shown:
        size = int.from_bytes(shown[:4], "big")
        texts.append(shown[4 : 4 + size].decode("utf-16-be"))
        shown = shown[4 + size :]
    assert dict(zip(texts[::2], texts[1::2], strict=True)) == SHOWN


ENVIRONMENT = {
    "PLAIN": "-Xmx1g -Da=b",
    "QUOTED": """-Da="x y" -Db='z'""",
    "SIGNS": r"-Dp=$HOME `id` C:\w \\ end $",
    "LETTERS": "-Dcity=Zürich",
}


def test_a_shell_reads_back_an_environment_file(tmp_path: Path) -> None:
    file = tmp_path / "environment"
    file.write_text(files.environment(ENVIRONMENT)["content"], encoding="utf-8")
    for name, value in ENVIRONMENT.items():
        command = ["sh", "-c", f'. "$1"; printf %s "${name}"', "sh", str(file)]
        shown = output(command)
        assert shown.decode() == value, name


GENERATOR = Path("/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator")


@pytest.mark.skipif(not GENERATOR.exists(), reason="no systemd here that shows what it reads")
def test_systemd_reads_back_an_environment_file(tmp_path: Path) -> None:
    """Files of environment.d(5) are read as an EnvironmentFile, and then expanded, too."""
    values = {name: value for name, value in ENVIRONMENT.items() if "$" not in value}
    folder = tmp_path / "environment.d"
    folder.mkdir()
    text = files.environment({**values, "SLASH": r"a\w\\b`c"})["content"]
    (folder / "90-x.conf").write_text(text, encoding="utf-8")
    (folder / "90-x.conf").chmod(0o644)
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
    shown = output([str(GENERATOR)], env=environment)
    words = " ".join(f'"${name}"' for name in (*values, "SLASH"))
    script = f'{shown.decode()}printf "%s\\0" {words}'
    expanded = output(["bash", "-c", script])
    assert expanded.decode().split("\0")[:-1] == [*values.values(), r"a\w\\b`c"]


def test_other_formats_hold_any_text_too() -> None:
    values = {"a<&>\"'": 'Zürich <&> "x"', "b": True, "c": ["x", "y"], "d": r"\w"}
    read = {
        element.findtext("name"): element.findtext("value")
        for element in ET.fromstring(files.render("hadoop.xml.j2", properties=values).encode())
    }
    assert read == {**values, "b": "true", "c": "x,y"}
    assert yaml.safe_load(files.yaml_text({**TEXTS, "n": "on", "o": "0755"})) == {
        **TEXTS,
        "n": "on",
        "o": "0755",
    }
