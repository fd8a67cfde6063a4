package sandbox

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/front"
	journals "github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
)

// reality is what runs of the real vCenters of a sandbox.
type reality struct {
	// connections are past gate and guard: what is about to be written to is looked at through them, and put back.
	connections map[string]*vcenter.Connection
	fronts      []*front.Front
	journal     *journals.Journal // nil where nothing may be written
	own         bool              // all that is in it this sandbox has written: an earlier one's is taken back
}

// named are the vCenters under the names that a topology gives them: DNS labels, each once.
func (r *Real) named() []vcenter.VCenter {
	taken := map[string]bool{}
	all := make([]vcenter.VCenter, len(r.Config.VCenters))
	for i, v := range r.Config.VCenters {
		label := cmp.Or(dnsLabel(v.Name), "vcenter")
		v.Name = label
		for n := 2; taken[v.Name]; n++ {
			v.Name = fmt.Sprintf("%s-%d", label, n)
		}
		taken[v.Name] = true
		all[i] = v
	}
	return all
}

// dnsLabel makes a DNS label of a name; empty where there is nothing in it to make one of.
func dnsLabel(name string) string {
	label := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	const longest = 60 // a number may come behind it
	return strings.Trim(label[:min(len(label), longest)], "-")
}
