# A suite for vcsim: it finds vcsim and govc by PATH, starts servers with vcsim's flags, reads what they announce, and asks them with
# govc. It ends with the number of its checks. Usage: sh vcsim.sh FOLDER
set -u
cd "$1" || exit 2
export GOVC_INSECURE=true GOVC_PERSIST_SESSION=false
pids= n=0
trap 'for p in $pids; do kill "$p" 2>/dev/null; done; wait' EXIT

# start FLAGS...: a server, and the variables that it announces through a pipe.
start() {
  rm -f fifo && mkfifo fifo || exit 2
  vcsim -l 127.0.0.1:0 -E fifo "$@" </dev/null &
  pid=$!
  pids="$pids $pid"
  eval "$(head -n1 fifo)"
  [ "$GOVC_SIM_PID" = "$pid" ] || fail "announced $GOVC_SIM_PID, is $pid"
}

# stop: the server ends as one that is asked to.
stop() {
  kill "$pid"
  wait "$pid"
  status=$?
  [ $status = 0 ] || fail "ended with $status"
}

fail() {
  echo "FAIL: $*"
  exit 1
}

# prints WANT COMMAND...: so the command prints.
prints() {
  want=$1
  shift
  got=$("$@" 2>&1) || fail "$*: status $?: $got"
  [ "$got" = "$want" ] || fail "$*: got '$got', want '$want'"
  n=$((n + 1))
}

# lines N COMMAND...: so many lines.
lines() {
  want=$1
  shift
  got=$("$@" 2>&1) || fail "$*: status $?: $got"
  count=$(printf '%s\n' "$got" | grep -c .)
  [ "$count" = "$want" ] || fail "$*: $count lines, want $want: $got"
  n=$((n + 1))
}

refused() {
  "$@" >/dev/null 2>&1 && fail "$*: not refused"
  n=$((n + 1))
}

# The default model.
start
case $GOVC_URL in https://user:pass@127.0.0.1:*/sdk) ;; *) fail "announced $GOVC_URL" ;; esac
prints "/DC0/vm
/DC0/network
/DC0/host
/DC0/datastore" sh -c 'govc ls /DC0 | sort -r'
lines 4 govc find / -type m
lines 4 govc find / -type h
prints poweredOn govc object.collect -s /DC0/vm/DC0_H0_VM0 runtime.powerState
lines 1 govc vm.power -off DC0_H0_VM0
prints poweredOff govc object.collect -s /DC0/vm/DC0_H0_VM0 runtime.powerState
lines 1 govc vm.power -on DC0_H0_VM0
lines 1 govc vm.clone -vm DC0_H0_VM0 -on=false -host DC0_H0 clone-1
lines 5 govc find / -type m
lines 0 govc vm.destroy clone-1
refused govc object.collect VirtualMachine:vm-none name
lines 0 govc folder.create /DC0/vm/suite
prints /DC0/vm/suite govc find /DC0/vm -type f -name suite
lines 1 govc tags.category.create -d zones k8s-zone
lines 1 govc tags.create -c k8s-zone a
lines 0 govc tags.attach -c k8s-zone a /DC0
prints a sh -c 'govc tags.attached.ls -r /DC0'
lines 0 govc datastore.mkdir -ds LocalDS_0 iso
stop
refused govc about

# Counts, and a model that has what was asked for.
start -dc 2 -cluster 2 -host 2 -vm 1 -pool 1 -ds 2 -pod 1 -folder 1 -standalone-host 0
lines 2 govc find / -type d
lines 4 govc find / -type c
lines 8 govc find / -type h
lines 2 govc find / -type StoragePod
stop

# One login, from files; another is refused.
printf 'me\n' >user && printf 'secret\n' >password
start -username user -password password
case $GOVC_URL in https://me:secret@*) ;; *) fail "announced $GOVC_URL" ;; esac
lines 4 govc find / -type m
refused env GOVC_USERNAME=me GOVC_PASSWORD=wrong GOVC_URL="${GOVC_URL##*@}" govc about
stop

# A host, plain HTTP, VMs that are off, an empty vCenter.
start -esx
prints HostAgent sh -c 'govc about | sed -n "s/^API type: *//p"'
stop
start -tls=false
case $GOVC_URL in http://*) ;; *) fail "announced $GOVC_URL" ;; esac
lines 4 govc find / -type m
stop
start -autostart=false
prints poweredOff govc object.collect -s /DC0/vm/DC0_H0_VM0 runtime.powerState
stop
start -dc 0
lines 0 govc ls /
lines 0 govc datacenter.create dc1
prints /dc1 govc ls /
stop

# A delay, a trace, an end with standard input.
start -delay 50 -trace-file trace
lines 1 govc ls /
stop
grep -q RetrieveServiceContent trace || fail "nothing is traced"
grep -q '>pass<' trace && fail "the trace has a password"

refused vcsim -nope
[ "$(vcsim uuidgen | wc -c)" = 37 ] || fail "uuidgen"
echo "$n checks passed"
