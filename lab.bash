# shellcheck shell=bash disable=SC2154 # ./lab reads this file after it has set its variables
# The words of ./lab: its usage, the check of a command by it, and the completion of words.

# Help, completion, and the check of a command's words are all made from this text: groups, and in each the verbs with
# their words. [optional], WORDS in capitals as `choices` knows them, of which `...` may be repeated.
usage() {
  cat << 'TEXT'
usage: ./lab [-v] VERB [WORD...]

Start
  up [TOPOLOGY]               hosts, Kafka, Spark, the flights stream, a report; a second run changes nothing
  status [LAB]                the lab's containers and the health of the cluster
  down [LAB] [--all]          removes hosts, network and processes of one lab, without a name of all labs of this
                              checkout; --all, without a name, also the caches and the Python environment

Operate
  ssh HOST [COMMAND...]       a shell on a host, or a command there
  run PLAYBOOK [OPTION...]    a playbook of playbooks/ on the lab; options are those of ansible-playbook
  job JOB [OPTION...]         deploys one job of spark_jobs and runs it; one that does not run all the time, until it has ended
  chaos [--minutes N] [--seed S]
                              random faults on the running lab, while a ledger accounts for every record

Test
  test [--full] [STAGE...]    the stages that a change is most likely to break, all of them with --full, or those named
  scenario SCENARIO [ACTION] [OPTION...]
                              one molecule scenario, or one of its steps; options are those of molecule
  lint [--full]               every linter and docs; --full also what a publication needs: Galaxy's own checks, the hooks of
                              pre-commit, the changelog
  unit [FILE...] [OPTION...]  the unit tests, or those of a file or folder; options are those of pytest
  mutate [NAME...] [OPTION...]
                              plants bugs in modules and shows which of them the unit tests do not notice
  bench BENCHMARK [PAIRS]     measures against a baseline

Develop
  keys [PRODUCT] VERSION      writes the table of the keys that a version of a product knows (Kafka, if none is named),
                              and its SHA256 if none is recorded
  docs                        builds the site of the documentation in build/site; a broken link is an error
  sbom                        lists the parts of each distribution in build/sbom/ (CycloneDX), and names those known to be bad
  completion SHELL            completion of these words: source <(./lab completion bash)
  help [VERB]                 this text, or what a verb does; so does --help after a verb

Examples
  ./lab up                                        three hosts with Kafka and Spark
  ./lab up connect                                another topology
  ./lab ssh k1 sudo journalctl -u kafka           the journal of a broker
  ./lab run rolling_restart --check               the plan of a rolling restart
  ./lab test secured                              one stage of the tests
  ./lab unit tests/unit/rules -k listener         unit tests of a folder whose names have a word
  ./lab down connect                              removes that lab

Environment
  LAB_NAME       names a lab, so that two of one topology can run at once
  LAB_TOPOLOGY   the topology, for verbs without the word
Without both, a verb is for the lab that runs. -v before a verb shows Ansible's output, which is kept in .lab/log/ anyway.

Exit codes
  0  done
  1  failed; the message names the log
  2  the command itself is wrong: nothing was started
ssh exits with the code of its command, test and unit with that of pytest.
TEXT
}

verbs() { usage | sed -n 's/^  \([a-z][a-z]*\).*/\1/p'; }
# synopsis VERB: the verb and its words; nothing if it is none.
synopsis() {
  local line
  while IFS= read -r line; do
    case $line in "  $1" | "  $1 "*) line=${line#  }; echo "${line%%  *}" ;; esac
  done < <(usage)
}

# verb_help VERB: its part of the usage, what its words can be, and its examples.
verb_help() {
  local line words place list shown=false
  words=$(synopsis "$1")
  echo "usage: ./lab $words"
  while IFS= read -r line; do
    case $line in
      "  $words"*) line=${line#  "$words"} shown=true ;;
      "          "* | "  ./lab $1" | "  ./lab $1 "*) ;;
      *) shown=false ;;
    esac
    case $line in "  ./lab $1" | "  ./lab $1 "*) shown=true ;; esac
    read -r line <<< "$line"
    ! $shown || [ -z "$line" ] || echo "  $line"
  done < <(usage)
  for place in $words; do
    place=${place//[].[]/}
    list=$(choices "$place" | paste -sd ' ')
    [ -z "$list" ] || echo "$place: $list"
  done
}

# choices PLACE: what may stand for a word of the usage, nothing if that is anything.
choices() {
  case $1 in
    TOPOLOGY) (cd inventories && ls) ;;
    LAB) labs ;;
    HOST) hosts "$name" ;;
    PLAYBOOK) (cd playbooks && ls ./*.yml) | sed 's|^\./||; s|\.yml$||' ;;
    STAGE) printf '%s\n' "${all_stages[@]}"; scenarios ;;
    SCENARIO) scenarios ;;
    BENCHMARK) sed -n 's/^    "\([a-z]*\)": .*/\1/p' tests/bench/__main__.py ;;
    PRODUCT) find artifacts -name keys.py -printf '%h\n' | sed 's|.*/||' | sort ;;
    VERSION) find artifacts -name pom.xml -printf '%h\n' | sed 's|.*/||' | sort -Vu ;;
    SHELL) printf '%s\n' bash zsh ;;
    VERB) verbs ;;
  esac
}
scenarios() { find molecule -name molecule.yml -printf '%h\n' | sed 's|.*/||' | sort; }
# The labs that this checkout has made.
own_labs() { find .lab -mindepth 2 -maxdepth 2 -name inventory -printf '%h\n' 2> /dev/null | sed 's|.*/||'; }
# They, and those that run.
labs() { { own_labs; running_labs; } | sort -u; }
running_labs() { ! have podman || podman ps --filter label=millrace.lab --format '{{index .Labels "millrace.lab"}}' | sort -u; }
# hosts LAB: the names of its hosts, from what the create playbook wrote.
hosts() { sed -n '/^  *hosts:/,/^  *vars:/s/^ \{8\}\([^ ]*\):$/\1/p' ".lab/$1/inventory/transport.yml" 2> /dev/null || true; }

# parse_words VERB WORD...: reads the words as the usage of the verb has them. Then `places` is what may come next, and `options`
# are those of the verb. A word that cannot be there is refused.
parse_words() {
  local verb=$1 usage token word kind list kinds known
  usage=$(synopsis "$verb") places=() options=()
  for token in $usage; do
    case $token in
      "$verb" | [A-Z]\]) ;; # N] is the value of the option before it
      \[-*) options+=("${token#[}") ;;
      *) places+=("$token") ;;
    esac
  done
  shift
  while [ $# != 0 ]; do
    word=$1
    shift
    # From here on the words are those of another program.
    case ${places[0]:-} in \[OPTION* | \[COMMAND* | \[ACTION*) return ;; esac
    if [[ $word = -* ]]; then
      case " ${options[*]} " in
        *" $word] "*) continue ;;
        *" $word "*) [ $# != 0 ] || wrong "usage: ./lab $usage"; shift; continue ;;
      esac
      case ${places[*]} in \[*OPTION*) return ;; esac
      unknown option "$word" "${options[@]%]}" --help
    fi
    kinds="" known=()
    while :; do
      [ ${#places[@]} != 0 ] || wrong "one word too many: $word. Usage: ./lab $usage"
      token=${places[0]}
      kind=${token//[].[]/}
      list=$(choices "$kind" | paste -sd ' ')
      [[ $kind != HOST ]] || list="" # of which lab is not clear yet
      [[ $kind != PLAYBOOK || ! -f playbooks/${word%.yml}.yml ]] || list=""
      if [[ " $list " = *" $word "* || -z $list && $kind != LAB ]]; then
        [[ $token = *...* ]] || places=("${places[@]:1}")
        break
      fi
      # shellcheck disable=SC2206 # a list of words
      kinds=${kinds:+$kinds or }${kind,,} known+=($list)
      [[ $token = \[* && ${#places[@]} != 1 ]] || unknown "$kinds" "$word" "${known[@]}"
      places=("${places[@]:1}")
    done
  done
}
# check_words VERB WORD...: refuses a command that its usage does not allow.
check_words() {
  local places options
  parse_words "$@"
  case ${places[0]:-[} in \[*) ;; *) wrong "usage: ./lab $(synopsis "$1")" ;; esac
}
# candidates WORD...: what may follow them, for the completion.
candidates() {
  local places options place
  case ${1:-} in -v) shift ;; "") echo -v ;; esac
  [ $# != 0 ] || { verbs; return; }
  parse_words "$@"
  printf '%s\n' "${options[@]%]}" --help
  for place in "${places[@]}"; do
    choices "${place//[].[]/}"
    [[ $place = \[* ]] || break
  done
}
# completion SHELL: its text. It runs this checkout's lab whichever lab is typed, and no candidate is ever expanded.
completion() {
  printf '#compdef lab\n_lab_words() { %q complete "$@" 2> /dev/null; }\n' "$PWD/lab"
  case $1 in
    bash) cat << 'END' ;;
_lab() {
  local found word typed=${COMP_WORDS[COMP_CWORD]}
  mapfile -t found < <(_lab_words "${COMP_WORDS[@]:1:COMP_CWORD-1}")
  COMPREPLY=()
  for word in "${found[@]}"; do
    # Bash would insert other letters as they are, and expand them when the line is run.
    [[ $word != "$typed"* || $word = *[!A-Za-z0-9._/:@%+=,-]* ]] || COMPREPLY+=("$word")
  done
}
complete -o default -F _lab lab
END
    zsh) cat << 'END' ;;
_lab() {
  local -a found=(${(f)"$(_lab_words ${words[2,CURRENT-1]})"})
  compadd -- $found || _files
}
compdef _lab lab
END
  esac
}
