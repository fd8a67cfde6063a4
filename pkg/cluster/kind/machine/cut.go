package machine

import (
	"context"
	"fmt"
)

// cut is what becomes of the packets between the container and its network.
type cut int

const (
	whole  cut = iota
	loud       // connections are reset, new ones refused
	silent     // packets vanish
)

// Cut takes the container's way to everything outside of it, the pods' in it too, until [Machine.Mend]: connections are reset or,
// silent, packets vanish. The container keeps its address, routes and names, so that nothing has to be given back. It returns at
// once for a container that does not run, and is in force from its next start on; so it is for one that stands still.
func (m *Machine) Cut(silently bool) error {
	if silently {
		return m.cutAs(silent)
	}
	return m.cutAs(loud)
}

// Mend gives the way back.
func (m *Machine) Mend() error { return m.cutAs(whole) }

// IsCut tells whether the way is taken.
func (m *Machine) IsCut() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cut != whole
}

func (m *Machine) cutAs(c cut) error {
	m.mu.Lock()
	m.cut = c
	m.mu.Unlock()
	return m.ask(context.Background(), func(ctx context.Context, b *box) error {
		if !b.runs() || b.paused() {
			return nil
		}
		return b.network(ctx, c)
	})
}

// network has the container's packet filter do what is wanted.
func (b *box) network(ctx context.Context, want cut) error {
	if b.netOf != b.is.PID { // it is another, whose filter has nothing of ours
		b.netOf, b.net = b.is.PID, whole
	}
	if b.net == want {
		return nil
	}
	if err := b.guest(ctx, filter[want]); err != nil {
		return fmt.Errorf("its network cannot be cut, or mended: %w", err)
	}
	b.net = want
	return nil
}

// filter are the scripts that bring a container's packet filter in line. Rules are in chains of their own, for what comes and
// goes by the container's interfaces; what its pods have among themselves goes by others. Packets vanish in the mangle table,
// through which all go and where nobody else has rules; they can be refused in the filter table only.
var filter = map[cut]string{
	whole: eachFamily(undo),
	loud: eachFamily(undo + `
$t -w -N $c
$t -w -A $c -o eth+ -p tcp --tcp-flags RST RST -j ACCEPT
$t -w -A $c -o eth+ -p $icmp -j ACCEPT
$t -w -A $c -i eth+ -p tcp -j REJECT --reject-with tcp-reset
$t -w -A $c -o eth+ -p tcp -j REJECT --reject-with tcp-reset
$t -w -A $c -i eth+ -j REJECT
$t -w -A $c -o eth+ -j REJECT
for h in INPUT FORWARD OUTPUT; do $t -w -I $h -j $c; done`),
	silent: eachFamily(undo + `
$t -w -t mangle -N $c
$t -w -t mangle -A $c -i eth+ -j DROP
$t -w -t mangle -A $c -o eth+ -j DROP
for h in PREROUTING POSTROUTING; do $t -w -t mangle -I $h -j $c; done`),
}

// undo takes our chains away, also half of them.
const undo = `
for where in filter:INPUT filter:FORWARD filter:OUTPUT mangle:PREROUTING mangle:POSTROUTING; do
	while $t -w -t ${where%:*} -D ${where#*:} -j $c 2>/dev/null; do :; done
done
for table in filter mangle; do
	$t -w -t $table -F $c 2>/dev/null && $t -w -t $table -X $c
done`

// eachFamily runs a script for IPv4, and for IPv6 where there is that.
func eachFamily(script string) string {
	return `both() {
` + script + `
true
}
c=VSPHERE-SANDBOX-CUT
set -e
t=iptables icmp=icmp; both
! ip6tables -w -n -L INPUT >/dev/null 2>&1 || { t=ip6tables icmp=ipv6-icmp; both; }`
}
